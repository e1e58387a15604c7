//! Tests of the data file's form and of the matching of names.

use galatea_core::model::{Effort, Price};

use super::*;
use time::macros::date;

#[test]
fn the_data_file_is_read_and_every_preference_leads_somewhere() {
    let file = data::parse(DATA).unwrap();
    assert!(!file.source.is_empty() && file.date >= date!(2026 - 11 - 23));
    for preference in &file.preferences {
        for role in Role::ALL {
            for pattern in preference.of(role) {
                let known = file
                    .families
                    .iter()
                    .any(|f| f.provider == preference.provider && f.name == *pattern);
                assert!(known, "{}: {pattern} is preferred and no family", preference.provider);
            }
        }
        for role in [Role::Small, Role::Large] {
            assert!(
                file.built_in(&preference.provider, role).is_some(),
                "{}: no default",
                preference.provider
            );
        }
    }
    for family in &file.families {
        assert!(
            file.preference(&family.provider).is_some(),
            "{} is not a provider",
            family.provider
        );
        if let Some(model) = &family.model {
            let own = file.of(&family.provider, model);
            assert_eq!(
                own.map(|f| &f.name),
                Some(&family.name),
                "{model} is found under another family"
            );
            assert_eq!(file.end_of(&family.provider, model), None, "{model} is a default and ends");
        }
        if let Some(Price { input, cached, .. }) = family.price {
            assert!(
                cached <= input && input < 1_000_000_000,
                "{}: a price out of range",
                family.name
            );
        }
    }
}

#[test]
fn what_is_unknown_or_misspelt_is_refused() {
    let end = "\n[[end]]\nprovider = \"p\"\nmodels = []\ndate = ";
    let head = "date = \"2026-11-23\"\nsource = \"x\"\nseeing = []\nprovider = []\nfamily = []\n";
    assert!(data::parse(&format!("{head}{end}\"2026-01-02\"")).is_ok());
    for text in [
        format!("{head}{end}\"2026-13-02\""),
        format!("{head}colour = 1{end}\"2026-01-02\""),
        String::new(),
    ] {
        assert!(data::parse(&text).is_err(), "{text}");
    }
}

#[test]
fn a_price_of_media_names_its_page_and_day() {
    let parse = |unit: &str| {
        data::parse(&format!(
            "date = \"2026-11-23\"\nsource = \"x\"\nseeing = []\nprovider = []\nend = []\n\
             [[family]]\nprovider = \"p\"\nname = \"m\"\nunit = {{ minute = \"0.5\"{unit} }}\n"
        ))
    };
    let read = parse(", source = \"example.org\", read = \"2026-11-24\"").unwrap();
    assert_eq!(read.families[0].unit.unwrap().minute, Some(500_000));
    for unit in [
        "",
        ", source = \"example.org\"",
        ", source = \" \", read = \"2026-11-24\"",
        ", source = \"x\", read = \"soon\"",
    ] {
        assert!(parse(unit).is_err(), "{unit}");
    }
}

#[test]
fn prices_are_exact() {
    for (text, expected) in [
        ("0.10", Some(100_000)),
        ("1", Some(1_000_000)),
        ("0.0375", Some(37_500)),
        ("0.000001", Some(1)),
        ("0", Some(0)),
    ] {
        assert_eq!(data::micros(text).ok(), expected, "{text}");
    }
    for text in ["", ".5", "-1", "1e3", "0.0000001", "1,5", "99999999999999999999"] {
        assert!(data::micros(text).is_err(), "{text}");
    }
}

#[test]
fn a_later_price_counts_from_its_day_on() {
    let flash = known().of("google", "gemini-3.8-flash").unwrap();
    assert_eq!(flash.price_on(date!(2026 - 12 - 31)).unwrap().input, 750_000);
    assert_eq!(flash.price_on(date!(2027 - 01 - 01)).unwrap().input, 1_500_000);
}

#[test]
fn models_follow_the_rules_of_their_family() {
    let rules = |provider: &str, model: &str| {
        known().of(provider, model).map(|family| family.rules.clone()).unwrap_or_default()
    };
    assert_eq!(rules("openai", "gpt-6.1-terra").wire, Wire::Responses);
    assert_eq!(
        rules("openai", "gpt-7-luna").wire,
        Wire::Responses,
        "a later version of a known family"
    );
    assert_eq!(
        rules("openai", "gpt-7-nova").wire,
        Wire::Responses,
        "an unknown family of a later version"
    );
    assert_eq!(
        rules("openai", "gpt-5-nano"),
        Rules { wire: Wire::Chat, ..rules("openai", "o4-mini") }
    );
    assert_eq!(rules("openai", "gpt-4o"), Rules::default());
    assert_eq!(rules("openai", "gpt-5-chat-latest"), Rules::default());
    assert_eq!(rules("openai", "my-own-model"), Rules::default());
    assert!(
        !rules("anthropic", "claude-haiku-5-5").prefill
            && rules("anthropic", "claude-3-5-haiku-20241022").prefill
    );
    assert_eq!(rules("anthropic", "claude-haiku-4-5-20251001").sampling, Sampling::Always);
    assert_eq!(rules("groq", "openai/gpt-oss-20b").limit, Limit::MaxCompletionTokens);
    let luna = rules("openai", "gpt-6-luna");
    assert!(
        luna.samples(Some(Effort::None)) && !luna.samples(None) && !luna.samples(Some(Effort::Low))
    );
    assert_eq!(rules("openai", "gpt-6.1-sol").effort(Some(Effort::None)), None);
}

#[test]
fn old_data_is_noticed_half_a_year_later() {
    let file = known();
    assert!(!file.is_old(file.date + OLD_AFTER));
    assert!(file.is_old(file.date + OLD_AFTER + time::Duration::days(1)));
}

#[test]
fn announced_ends_are_known() {
    assert_eq!(known().end_of("openai", "gpt-4o"), Some(date!(2027 - 01 - 14)));
    assert_eq!(known().end_of("google", "models/gemini-2.5-pro"), Some(date!(2026 - 12 - 01)));
    assert_eq!(known().end_of("openai", "gpt-6-luna"), None);
}
