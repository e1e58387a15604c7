//! Finds problems with an agent's models from their names and settings alone, without a network
//! call.

use galatea_core::{
    Finding, Result, Severity,
    model::{Sampling, Tier},
};

use super::{
    context::Context, parameters, providers::is_openai, uses::Use, variables::OPENAI_BASE_URL,
};
use crate::{
    families::{self, Role, Rules},
    wire::codes,
};

/// Findings for names that the last list did not contain, announced ends of models, parameters that
/// are not sent, and outdated data.
pub(super) fn find(context: &Context<'_>, uses: &[Use]) -> Result<Vec<Finding>> {
    let today = families::day(context.clock.now());
    let known = families::known();
    let mut found = Vec::new();
    for Use { provider, service, role, named } in uses {
        if let Some(like) =
            context.dependencies.choices().missing(service, &named.name).filter(|_| named.is_set())
        {
            let finding = Finding::new(
                Severity::Warning,
                codes::UNKNOWN,
                "model",
                format!("{provider} had no model {} when its list was last read", named.name),
            );
            let fix = format!("correct {}", named.why.variable());
            push(&mut found, finding.with_fix(crate::check::with_names(provider, &fix, &like)));
        }
        for adjusted in
            context.dependencies.choices().adjusted(service, &named.name, context.clock.now())
        {
            let message = format!(
                "{provider} refuses a part of requests to {}: {}",
                named.name, adjusted.adjustment
            );
            let fix = "nothing to do: what is left out is asked for again after a week";
            push(
                &mut found,
                Finding::new(Severity::Info, codes::ADJUSTED, "model", message)
                    .with_cause(adjusted.because)
                    .with_fix(fix),
            );
        }
        // A self-hosted server keeps its models as long as its owner wants.
        let theirs = *provider != "openai" || is_openai(&context.text_or_default(&OPENAI_BASE_URL));
        if let Some(end) = known.end_of(provider, &named.name).filter(|_| theirs) {
            let (severity, word) =
                if end <= today { (Severity::Warning, "ended") } else { (Severity::Info, "ends") };
            let instead = known
                .built_in(provider, *role)
                .map_or_else(String::new, |model| format!(", such as {model}"));
            let finding = Finding::new(
                severity,
                codes::ENDS,
                "model",
                format!("{} at {provider} {word} on {end}", named.name),
            );
            push(
                &mut found,
                finding.with_fix(format!("name a newer one{instead}, or none: it is chosen then")),
            );
        }
        if *role == Role::Large
            && context.chooses_tools()
            && let Some(skill) = context
                .dependencies
                .choices()
                .tool_skill(service, &named.name)
                .filter(|skill| !skill.works)
        {
            let finding = Finding::new(
                Severity::Info,
                codes::TOOLS_OFF,
                "model",
                format!("{} is offered no tools: {} ({})", named.name, skill.why, skill.on),
            );
            push(
                &mut found,
                finding.with_fix("take a model that calls tools, or set MODEL_TOOLS=true to offer them anyway; `galatea models refresh` forgets the trial"),
            );
        }
        let tier = match role {
            Role::Small => Tier::TextSmall,
            Role::Large => Tier::TextLarge,
            Role::ReasoningSmall => Tier::ReasoningSmall,
            Role::ReasoningLarge => Tier::ReasoningLarge,
            Role::Vision | Role::Embedding => continue,
        };
        let rules =
            known.of(provider, &named.name).map(|family| family.rules.clone()).unwrap_or_default();
        let left_out = dropped(&parameters::set(context.settings, tier)?, &rules);
        if !left_out.is_empty() {
            let message =
                format!("{} takes no {} as set: left out", named.name, left_out.join(", "));
            let own = parameters::role(tier).whole.name;
            push(
                &mut found,
                Finding::new(Severity::Info, codes::DROPPED, "model", message)
                    .with_fix(format!(
                        "remove it ({own}, DEFAULT_SAMPLING or the setting of one parameter), or take another model"
                    )),
            );
        }
    }
    if known.is_old(today) {
        let message = format!("what is known of models is of {}", known.date);
        push(
            &mut found,
            Finding::new(Severity::Warning, codes::DATA, "model", message).with_fix(
                "update galatea; until then name models yourself where a choice seems old",
            ),
        );
    }
    Ok(found)
}

fn push(found: &mut Vec<Finding>, finding: Finding) {
    if !found.contains(&finding) {
        found.push(finding);
    }
}

/// Parameters that are set but not sent, because the model does not accept them.
fn dropped(set: &Sampling, rules: &Rules) -> Vec<&'static str> {
    let effort = rules.effort(set.effort);
    let samples = rules.samples(effort);
    let sampling = [
        ("temperature", set.temperature.is_some()),
        ("top_p", set.top_p.is_some()),
        ("top_k", set.top_k.is_some()),
        ("min_p", set.min_p.is_some()),
        ("repetition_penalty", set.repetition_penalty.is_some()),
        ("frequency_penalty", set.frequency_penalty.is_some()),
        ("presence_penalty", set.presence_penalty.is_some()),
    ];
    let of_sampling =
        sampling.into_iter().filter(|(_, is_set)| *is_set && !samples).map(|(name, _)| name);
    let of_effort = set.effort.is_some() && effort.is_none();
    of_sampling.chain(of_effort.then_some("effort")).collect()
}
