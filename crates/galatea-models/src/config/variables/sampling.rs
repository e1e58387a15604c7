//! Settings of sampling.

use galatea_core::Variable;

macro_rules! parameters {
    ($prefix:literal, $whose:literal) => {
        [
            Variable::new(
                concat!($prefix, "_MAX_TOKENS"),
                concat!("Longest answer", $whose, ", in tokens, thoughts included. Unset: 1024, and 7168 more for a model that thinks."),
            ),
            Variable::new(concat!($prefix, "_TEMPERATURE"), concat!("Randomness", $whose, ".")),
            Variable::new(concat!($prefix, "_TOP_P"), concat!("Nucleus sampling", $whose, ".")),
            Variable::new(concat!($prefix, "_TOP_K"), concat!("Number of candidates", $whose, ".")),
            Variable::new(
                concat!($prefix, "_MIN_P"),
                concat!("Least probability of a candidate", $whose, "."),
            ),
            Variable::new(
                concat!($prefix, "_SEED"),
                concat!("Seed for repeatable answers", $whose, "."),
            ),
            Variable::new(
                concat!($prefix, "_REPETITION_PENALTY"),
                concat!("Repetition penalty", $whose, "."),
            ),
            Variable::new(
                concat!($prefix, "_FREQUENCY_PENALTY"),
                concat!("Frequency penalty", $whose, "."),
            ),
            Variable::new(
                concat!($prefix, "_PRESENCE_PENALTY"),
                concat!("Presence penalty", $whose, "."),
            ),
            Variable::new(
                concat!($prefix, "_EFFORT"),
                concat!(
                    "How long a reasoning model thinks",
                    $whose,
                    ": none, minimal, low, medium, high, xhigh or max, as far as it takes that."
                ),
            ),
        ]
    };
}

/// Sampling parameters of the small model.
pub const TEXT_SMALL: [Variable; 10] = parameters!("TEXT_SMALL", " of the small model");
/// Sampling parameters of the large model.
pub const TEXT_LARGE: [Variable; 10] = parameters!("TEXT_LARGE", " of the large model");
/// Sampling parameters of the small reasoning model. Its effort is medium if no setting says
/// otherwise.
pub const REASONING_SMALL: [Variable; 10] =
    parameters!("REASONING_SMALL", " of the small reasoning model");
/// Sampling parameters of the large reasoning model. Its effort is high if no setting says
/// otherwise.
pub const REASONING_LARGE: [Variable; 10] =
    parameters!("REASONING_LARGE", " of the large reasoning model");
/// Sampling parameters of all models.
pub const DEFAULT: [Variable; 10] = parameters!("DEFAULT", "");
/// Sampling parameters under elizaOS's oldest names, with the lowest precedence: longest answer,
/// temperature, frequency and presence penalty.
pub const LEGACY: [Variable; 4] = [
    Variable::new("MODEL_MAX_TOKEN", "Older name of DEFAULT_MAX_TOKENS."),
    Variable::new("MODEL_TEMPERATURE", "Older name of DEFAULT_TEMPERATURE."),
    Variable::new("MODEL_FREQ_PENALTY", "Older name of DEFAULT_FREQUENCY_PENALTY."),
    Variable::new("MODEL_PRESENCE_PENALTY", "Older name of DEFAULT_PRESENCE_PENALTY."),
];
