//! Builds the chains of an agent's models from what the providers offer.

use std::{sync::Arc, time::Duration};

use galatea_core::{
    EmbeddingModel, Models, Result, TextModel,
    model::{MediaModels, ObjectModels, ReasoningModels, Sampling, Tier},
};

use super::{
    context::Context, endpoints::Endpoints, list_reader::ListReader, named::Named,
    parameters::sampling, uses::Use,
};
use crate::{
    chain::{Chain, Link},
    check::Probe,
    dependencies::fingerprint,
    families::{self, Role},
    guarded::{Guarded, limits},
    limited::Limited,
    noticing::Noticing,
    retry::{PATIENCE, Retrying},
    tool_trial::ToolTrial,
    toolless::Toolless,
    tuned::Tuned,
    wire::{Endpoint, Names},
};

type Make<'a> = Box<dyn Fn(Endpoint, &str) -> Arc<dyn TextModel> + 'a>;
type MakeProbe<'a> = Box<dyn Fn(Endpoint, Vec<String>) -> Probe + 'a>;

/// The endpoints and models of one provider.
pub(super) struct Offer<'a> {
    endpoints: Endpoints,
    small: Named,
    large: Named,
    /// Models for thought, small and large; none is the large model.
    pub(super) reasoning: [Option<Named>; 2],
    /// Model that describes pictures, and the length limit of a description in tokens. `None` if
    /// the large model can see, or no model can.
    pub(super) vision: Option<(Named, Option<u32>)>,
    /// Length limit of a description by the large model, in tokens.
    pub(super) description_tokens: Option<u32>,
    pub(super) embedding: Option<Arc<dyn EmbeddingModel>>,
    /// Name of the embedding model, if it is at the same service.
    pub(super) embedding_name: Option<Named>,
    make: Make<'a>,
    probe: MakeProbe<'a>,
}

impl<'a> Offer<'a> {
    /// Creates an offer. `models` are the small and the large model.
    pub(super) fn new(
        endpoints: Endpoints,
        models: (Named, Named),
        make: impl Fn(Endpoint, &str) -> Arc<dyn TextModel> + 'a,
        probe: impl Fn(Endpoint, Vec<String>) -> Probe + 'a,
    ) -> Self {
        let (small, large) = models;
        Self {
            endpoints,
            small,
            large,
            reasoning: [None, None],
            vision: None,
            description_tokens: None,
            embedding: None,
            embedding_name: None,
            make: Box::new(make),
            probe: Box::new(probe),
        }
    }

    /// The endpoint of the first key.
    pub(super) fn main(&self) -> &Endpoint {
        &self.endpoints.first
    }

    /// `openai gpt-6.1-terra`.
    pub(super) fn title(&self) -> String {
        format!("{} {}", self.main().names().provider, self.large.name)
    }

    /// True if the service is on this machine or a private network.
    pub(super) fn is_at_home(&self) -> bool {
        is_private(self.main().site())
    }

    /// The probe of the first key, then those of the further keys.
    pub(super) fn probes(&self) -> Vec<Probe> {
        self.endpoints
            .all()
            .map(|endpoint| {
                let tiers =
                    [Tier::TextSmall, Tier::TextLarge, Tier::ReasoningSmall, Tier::ReasoningLarge];
                let names = tiers.map(|tier| self.model(tier).to_owned());
                (self.probe)(endpoint.clone(), names.to_vec())
            })
            .collect()
    }

    /// The name of its model for a tier.
    pub(super) fn model(&self, tier: Tier) -> &str {
        let [small, large] = &self.reasoning;
        let named = match tier {
            Tier::TextSmall => &self.small,
            Tier::TextLarge => &self.large,
            Tier::ReasoningSmall => small.as_ref().unwrap_or(&self.large),
            Tier::ReasoningLarge => large.as_ref().unwrap_or(&self.large),
        };
        &named.name
    }

    /// Its models, each with its purpose.
    pub(super) fn uses(&self) -> Vec<Use> {
        let provider = self.main().names().provider;
        let vision = self.vision.as_ref().map(|(named, _)| named);
        let all = [
            (Role::Small, Some(&self.small)),
            (Role::Large, Some(&self.large)),
            (Role::ReasoningSmall, self.reasoning[0].as_ref()),
            (Role::ReasoningLarge, self.reasoning[1].as_ref()),
            (Role::Vision, vision),
            (Role::Embedding, self.embedding_name.as_ref()),
        ];
        let used = |(role, named): (Role, Option<&Named>)| {
            Some(Use { provider, service: self.main().service(), role, named: named?.clone() })
        };
        all.into_iter().filter_map(used).collect()
    }

    /// The reader of its list of models.
    pub(super) fn list_reader(&self) -> Option<ListReader> {
        let probe = (self.probe)(self.main().clone(), Vec::new());
        let private = self.is_at_home()
            || (self.main().names().provider == "openai" && self.main().names().label != "OpenAI");
        ListReader::of(&probe, self.uses(), private)
    }

    /// The trial of its large model's tools. None for services that say themselves which of their
    /// models call tools, and for a model that is offered none.
    pub(super) fn tool_trial(&self, context: &Context<'_>) -> Option<ToolTrial> {
        let Names { provider, label, .. } = self.main().names();
        let own = provider == "ollama" || provider == "openai" && label != "OpenAI";
        if !own || !context.chooses_tools() {
            return None;
        }
        let model = (self.make)(self.main().clone(), &self.large.name);
        model.info().tools.then(|| ToolTrial {
            model,
            service: self.main().service(),
            choices: context.dependencies.choices().clone(),
            clock: Arc::clone(&context.clock),
        })
    }

    /// A model with the first key.
    fn at_first<'b>(&'b self, model: &'b str) -> Rung<'b, 'a> {
        Rung { offer: self, endpoint: &self.endpoints.first, model }
    }

    /// A model with each further key.
    fn at_further<'b>(&'b self, model: &'b str) -> impl Iterator<Item = Rung<'b, 'a>> {
        self.endpoints.further.iter().map(move |endpoint| Rung { offer: self, endpoint, model })
    }

    fn at_all<'b>(&'b self, model: &'b str) -> impl Iterator<Item = Rung<'b, 'a>> {
        std::iter::once(self.at_first(model)).chain(self.at_further(model))
    }
}

/// Describes a link to build.
struct Rung<'b, 'a> {
    offer: &'b Offer<'a>,
    endpoint: &'b Endpoint,
    model: &'b str,
}

impl Rung<'_, '_> {
    fn link(&self, context: &Context<'_>, patience: Option<Duration>) -> Link {
        let Self { offer, endpoint, model } = self;
        let mut name = format!("{} {model}", endpoint.names().provider);
        if !offer.endpoints.further.is_empty() {
            name = format!("{name} ({})", endpoint.key_variable());
        }
        let (total, clock) = (context.total(), &context.clock);
        let breaker =
            context.dependencies.breaker(endpoint, model, &name, limits(total), clock.now());
        let provider = endpoint.names().provider;
        let known = families::known().of(provider, model);
        let thinks = known.is_some_and(|family| !family.rules.efforts.is_empty());
        let limited = Limited::new(
            (offer.make)((*endpoint).clone(), model),
            endpoint.service(),
            thinks,
            context.dependencies.thinkers(),
        );
        let toolless = Toolless {
            inner: Arc::new(limited),
            service: endpoint.service(),
            refusals: context.dependencies.tool_refusals(),
            choices: context.dependencies.choices().clone(),
            auto: context.chooses_tools(),
            clock: Arc::clone(clock),
        };
        let noticing = Noticing {
            inner: Arc::new(toolless),
            service: endpoint.service(),
            label: endpoint.names().label,
            dependencies: context.dependencies.clone(),
            clock: Arc::clone(clock),
        };
        let guarded = Guarded::new(
            Arc::new(noticing),
            breaker,
            context.allowed(),
            context.stream,
            Arc::clone(clock),
        );
        let retrying = Retrying::new(
            Arc::new(guarded),
            context.policy(patience),
            context.dependencies.budget(endpoint),
            Arc::clone(clock),
        );
        Link {
            name,
            site: endpoint.site().to_owned(),
            key: fingerprint(endpoint.auth()),
            model: Arc::new(retrying),
        }
    }
}

/// True if an address is private. A host name without a dot is one of a nearby machine or
/// container.
pub(super) fn is_private(site: &str) -> bool {
    let host = url::Url::parse(site).ok().and_then(|url| url.host().map(|host| host.to_owned()));
    match host {
        Some(url::Host::Ipv4(ip)) => galatea_http::denied(ip.into()).is_some(),
        Some(url::Host::Ipv6(ip)) => galatea_http::denied(ip.into()).is_some(),
        Some(url::Host::Domain(name)) => {
            !name.contains('.')
                || [".local", ".localhost", ".internal", ".lan", ".home.arpa"]
                    .iter()
                    .any(|end| name.ends_with(end))
        }
        None => false,
    }
}

/// Builds the models of an agent: small, large, and vision if one is named or the large model can
/// see. With `sibling`, small and large model are each other's fallback, and the large model that of
/// a reasoning model.
pub(super) fn assemble(
    context: &Context<'_>,
    chosen: &Offer<'_>,
    others: &[Offer<'_>],
    sibling: bool,
) -> Result<Models> {
    let text = |tier: Tier| -> Result<Arc<dyn TextModel>> {
        let is_large = chosen.model(tier) == chosen.model(Tier::TextLarge);
        let other = if is_large { Tier::TextSmall } else { Tier::TextLarge };
        let mut rest: Vec<_> = chosen.at_further(chosen.model(tier)).collect();
        if sibling && chosen.model(other) != chosen.model(tier) {
            rest.extend(chosen.at_all(chosen.model(other)));
        }
        rest.extend(others.iter().flat_map(|offer| offer.at_all(offer.model(tier))));
        Ok(Tuned::wrap(
            chain(context, &chosen.at_first(chosen.model(tier)), &rest),
            sampling(context.settings, tier)?,
        ))
    };
    let large = text(Tier::TextLarge)?;
    let reasoning = ReasoningModels {
        small: Some(text(Tier::ReasoningSmall)?),
        large: Some(text(Tier::ReasoningLarge)?),
    };
    let vision = match &chosen.vision {
        Some((model, max_tokens)) => {
            let at_large = sampling(context.settings, Tier::TextLarge)?;
            let defaults = Sampling { max_tokens: max_tokens.or(at_large.max_tokens), ..at_large };
            Some(Tuned::wrap(
                chain(
                    context,
                    &chosen.at_first(&model.name),
                    &chosen.at_further(&model.name).collect::<Vec<_>>(),
                ),
                defaults,
            ))
        }
        None => large.info().vision.then(|| {
            let max_tokens = chosen.description_tokens;
            Tuned::wrap(Arc::clone(&large), Sampling { max_tokens, ..Sampling::default() })
        }),
    };
    Ok(Models {
        small: text(Tier::TextSmall)?,
        large,
        reasoning,
        vision,
        objects: ObjectModels::default(),
        embedding: chosen.embedding.clone(),
        media: MediaModels::default(),
    })
}

fn chain(context: &Context<'_>, first: &Rung<'_, '_>, rest: &[Rung<'_, '_>]) -> Arc<dyn TextModel> {
    let patience = (!rest.is_empty()).then_some(PATIENCE);
    let others = rest.iter().map(|rung| rung.link(context, patience)).collect();
    Arc::new(Chain::new(
        first.link(context, patience),
        others,
        context.total(),
        Arc::clone(&context.clock),
    ))
}
