//! Expected and real cost of a call. Pure.

use galatea_core::{
    model::{CacheFor, ModelInfo, Price, Spent, TextAnswer, TextRequest, Usage},
    tokens::Family,
};

use super::ledger::Spend;

/// Tokens reserved for an answer without a length limit: about 700 words. A longer answer is
/// counted when it arrives.
const ANSWER: u64 = 1_024;

/// A model of one's own machine, and a script.
const FREE: Price = Price { input: 0, cached: 0, output: 0, stored: None, stored_long: None };

/// Tokens a request may take: none of it is in the provider's cache yet, and all of it is stored there.
pub(super) fn expected(request: &TextRequest, model: &ModelInfo) -> Usage {
    let input = Family::of(&model.model).request(request);
    let hour = request.cache_instructions == CacheFor::Hour;
    let (stored, stored_long) = if hour { (0, input) } else { (input, 0) };
    Usage {
        input,
        stored,
        stored_long,
        output: request.params.max_tokens.map_or(ANSWER, u64::from).min(ANSWER),
        ..Usage::default()
    }
}

/// Use of a call, as the provider counts; by its length where the provider does not.
pub(super) fn taken(answer: &TextAnswer, expected: Usage, model: &ModelInfo) -> Usage {
    if answer.usage.input + answer.usage.output > 0 {
        return answer.usage;
    }
    let family = Family::of(&model.model);
    let calls: u64 = answer.tool_calls.iter().map(|call| family.text(&call.arguments)).sum();
    let output = family.text(&answer.text) + calls;
    Usage { input: expected.input, output, ..Usage::default() }
}

/// Use of an attempt without an answer: the tokens that the provider counted to the end; otherwise
/// the estimate, or more if the provider had counted more when the answer broke. Nothing beyond the
/// model's longest answer.
pub(super) fn failed(spent: Option<Spent>, expected: Usage, model: &ModelInfo) -> Usage {
    let Some(Spent { usage, whole }) = spent else { return expected };
    if whole {
        return usage;
    }
    let read = if usage.input > 0 { usage } else { expected };
    let longest = model.limits.output.map_or(u64::MAX, u64::from);
    Usage { output: usage.output.min(longest).max(expected.output), ..read }
}

/// Price of the model that answered: another link of the chain, or another model that the service
/// names, has its own price. None where that is unknown; those tokens are counted.
pub(super) fn of_answer(answer: &TextAnswer, asked: &ModelInfo) -> Option<Price> {
    let another = answer
        .by
        .as_ref()
        .filter(|by| (&by.provider, &by.model) != (&asked.provider, &asked.model));
    answer.price.or_else(|| match another {
        Some(by) => (by.provider == "ollama").then_some(FREE),
        None if answer.served.is_some() => None,
        None => asked.known_price(),
    })
}

/// Money where the price is known, tokens where it is not.
pub(super) fn cost(usage: Usage, price: Option<Price>) -> Spend {
    let Some(price) = price else {
        return Spend { micros: 0, tokens: usage.input.saturating_add(usage.output) };
    };
    Spend { micros: price.of(usage), tokens: 0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use galatea_core::model::AnsweredBy;

    #[test]
    fn money_is_rounded_up_and_cached_tokens_are_cheaper() {
        let price =
            Price { input: 2_500_000, cached: 250_000, output: 10_000_000, ..Price::default() };
        let usage = Usage { input: 1_000, cached: 400, output: 100, ..Usage::default() };
        assert_eq!(cost(usage, Some(price)), Spend { micros: 1_500 + 100 + 1_000, tokens: 0 });
        assert_eq!(
            cost(
                Usage { input: 1, ..Usage::default() },
                Some(Price { input: 1, cached: 0, output: 0, ..Price::default() })
            )
            .micros,
            1
        );
        assert_eq!(cost(usage, None), Spend { micros: 0, tokens: 1_100 });
        assert_eq!(
            cost(usage, Some(Price { input: 0, cached: 0, output: 0, ..Price::default() })),
            Spend::default()
        );
    }

    #[test]
    fn an_answer_costs_what_the_model_that_gave_it_costs() {
        let (dear, cheap) = (
            Price { input: 9, cached: 9, output: 9, ..Price::default() },
            Price { input: 1, cached: 1, output: 1, ..Price::default() },
        );
        let asked = ModelInfo {
            provider: "a".into(),
            model: "large".into(),
            price: Some(dear),
            ..ModelInfo::default()
        };
        let by = |provider: &str, price| TextAnswer {
            by: Some(AnsweredBy {
                provider: provider.into(),
                model: "other".into(),
                ..AnsweredBy::default()
            }),
            price,
            ..TextAnswer::default()
        };
        assert_eq!(of_answer(&TextAnswer::default(), &asked), Some(dear));
        assert_eq!(of_answer(&by("b", Some(cheap)), &asked), Some(cheap));
        assert_eq!(of_answer(&by("b", None), &asked), None, "its tokens are counted");
        assert_eq!(of_answer(&by("ollama", None), &asked), Some(FREE));
        let served = TextAnswer { served: Some("other".into()), ..TextAnswer::default() };
        assert_eq!(of_answer(&served, &asked), None);
        assert_eq!(of_answer(&TextAnswer { price: Some(cheap), ..served }, &asked), Some(cheap));
    }

    #[test]
    fn a_failed_attempt_costs_what_was_counted_or_the_estimate() {
        let mut model = ModelInfo::default();
        let expected = Usage { input: 100, stored: 100, output: 50, ..Usage::default() };
        assert_eq!(failed(None, expected, &model), expected);
        let usage = Usage { input: 90, cached: 80, output: 8_192, ..Usage::default() };
        let whole = Some(Spent { usage, whole: true });
        assert_eq!(failed(whole, expected, &model), usage);
        let broken = |input, output| {
            let usage = Usage { input, cached: input, output, ..Usage::default() };
            Some(Spent { usage, whole: false })
        };
        let used = failed(broken(90, 3), expected, &model);
        assert_eq!((used.input, used.cached, used.stored, used.output), (90, 90, 0, 50));
        let used = failed(broken(0, 3_000_000), expected, &model);
        assert_eq!((used.input, used.stored, used.output), (100, 100, 3_000_000));
        model.limits.output = Some(64_000);
        assert_eq!(failed(broken(0, 3_000_000), expected, &model).output, 64_000);
    }

    #[test]
    fn what_a_provider_does_not_count_is_estimated() {
        let model = ModelInfo::default();
        let request = TextRequest::prompt(Some("abc".into()), "x".repeat(30));
        let expected = expected(&request, &model);
        assert_eq!((expected.input, expected.output), (8 + 1 + 8 + 10, ANSWER));
        let answer = TextAnswer { text: "abcdef".into(), ..TextAnswer::default() };
        let uncounted = taken(&answer, expected, &model);
        assert_eq!((uncounted.input, uncounted.output), (expected.input, 2));
        let counted = TextAnswer {
            usage: Usage { input: 5, output: 6, ..Usage::default() },
            ..TextAnswer::default()
        };
        assert_eq!(taken(&counted, expected, &model).input, 5);
    }
}
