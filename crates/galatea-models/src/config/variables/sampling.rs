//! Settings of sampling: one structured value for each role of a model, such as
//! `temperature=0.7, max_tokens=2000`. The names of single parameters are elizaOS's.

use galatea_core::Variable;

/// Number of parameters.
pub const COUNT: usize = 10;
/// Names of the parameters in a structured value, in the order of [`SamplingSettings::parts`].
pub const PARAMETERS: [&str; COUNT] = [
    "max_tokens",
    "temperature",
    "top_p",
    "top_k",
    "min_p",
    "seed",
    "repetition_penalty",
    "frequency_penalty",
    "presence_penalty",
    "effort",
];

/// The sampling settings of one role.
#[derive(Debug)]
pub struct SamplingSettings {
    /// The structured value.
    pub whole: Variable,
    /// The single parameters, each of which has precedence over the structured value.
    pub parts: [Variable; COUNT],
}

macro_rules! sampling {
    ($prefix:literal, $help:expr, $($suffix:literal $(aka $alias:literal)?),+) => {
        SamplingSettings {
            whole: Variable::new(concat!($prefix, "_SAMPLING"), $help),
            parts: [$(
                Variable::new(
                    concat!($prefix, "_", $suffix),
                    concat!($suffix, " in ", $prefix, "_SAMPLING."),
                )
                $(.alias(&[$alias]))?
                .form_of(concat!($prefix, "_SAMPLING"))
            ),+],
        }
    };
    ($prefix:literal, $help:expr) => {
        sampling!(
            $prefix, $help, "MAX_TOKENS", "TEMPERATURE", "TOP_P", "TOP_K", "MIN_P", "SEED",
            "REPETITION_PENALTY", "FREQUENCY_PENALTY", "PRESENCE_PENALTY", "EFFORT"
        )
    };
}

/// All models.
pub const DEFAULT: SamplingSettings = sampling!(
    "DEFAULT",
    "Sampling of all models, such as `temperature=0.7, max_tokens=2000`. Parameters: max_tokens (longest answer, thoughts included; unset: 1024, and 7168 more for \
     a model that thinks), temperature, top_p, top_k, min_p, seed, repetition_penalty, frequency_penalty, presence_penalty, effort (how long a model thinks: none, \
     minimal, low, medium, high, xhigh or max, as far as it takes that).",
    "MAX_TOKENS" aka "MODEL_MAX_TOKEN",
    "TEMPERATURE" aka "MODEL_TEMPERATURE",
    "TOP_P",
    "TOP_K",
    "MIN_P",
    "SEED",
    "REPETITION_PENALTY",
    "FREQUENCY_PENALTY" aka "MODEL_FREQ_PENALTY",
    "PRESENCE_PENALTY" aka "MODEL_PRESENCE_PENALTY",
    "EFFORT"
);
/// Small model.
pub const TEXT_SMALL: SamplingSettings = sampling!(
    "TEXT_SMALL",
    "Sampling of the small model; each parameter counts before DEFAULT_SAMPLING."
);
/// Large model.
pub const TEXT_LARGE: SamplingSettings = sampling!(
    "TEXT_LARGE",
    "Sampling of the large model; each parameter counts before DEFAULT_SAMPLING."
);
/// Small reasoning model.
pub const REASONING_SMALL: SamplingSettings = sampling!(
    "REASONING_SMALL",
    "Sampling of the small reasoning model; each parameter counts before DEFAULT_SAMPLING. Its effort is medium if no setting says otherwise."
);
/// Large reasoning model.
pub const REASONING_LARGE: SamplingSettings = sampling!(
    "REASONING_LARGE",
    "Sampling of the large reasoning model; each parameter counts before DEFAULT_SAMPLING. Its effort is high if no setting says otherwise."
);

/// The structured values.
pub const SAMPLING: &[Variable] = &[
    DEFAULT.whole,
    TEXT_SMALL.whole,
    TEXT_LARGE.whole,
    REASONING_SMALL.whole,
    REASONING_LARGE.whole,
];
