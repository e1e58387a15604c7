//! The options of `galatea init`, and the models that one of them names.

use clap::{Args, ValueEnum};
use galatea_models::config::variables as models;

use crate::cli::flags::Consent;

/// Connect platforms and a model, step by step
///
/// Asks what to connect, checks every credential with a real call, and writes .env (readable by you
/// only) and a character file. With --yes nothing is asked: give the answers as options, and
/// secrets on standard input, one per line: Telegram's token, Discord's token, X's four keys (API
/// key, API key secret, access token, access token secret), the provider's key. What is not
/// connected is left out.
#[derive(Debug, Clone, Args)]
#[command(
    before_help = "Examples:\n  galatea init\n  galatea init --yes --telegram-token-stdin --model ollama < token.txt\n  printf '%s\\n' \"$TOKEN\" \"$KEY\" | galatea init --yes \\\n      --telegram-token-stdin --model openai --model-key-stdin\n  printf '%s\\n' \"$DISCORD\" | galatea init --yes --connect discord --model ollama"
)]
pub(crate) struct Init {
    /// Name of the character
    #[arg(long, value_name = "NAME")]
    pub(super) name: Option<String>,
    /// Read the Telegram token from standard input; the same as --connect telegram
    #[arg(long)]
    pub(super) telegram_token_stdin: bool,
    /// Connect this platform (telegram, discord, x; may be repeated); its secrets are read from
    /// standard input
    #[arg(long, value_name = "PLATFORM")]
    pub(super) connect: Vec<String>,
    /// Which model answers
    #[arg(long, value_name = "PROVIDER")]
    pub(super) model: Option<Brain>,
    /// Read the provider's key from standard input
    #[arg(long, aliases = ["openai-key-stdin", "anthropic-key-stdin", "openrouter-key-stdin", "google-key-stdin", "groq-key-stdin"], requires = "model")]
    pub(super) model_key_stdin: bool,
    /// Address of Ollama or of an OpenAI-compatible server
    #[arg(long, value_name = "URL", requires = "model")]
    pub(super) model_url: Option<String>,
    /// Replace values in .env and a character file that are there
    #[arg(long)]
    pub(super) force: bool,
    /// Write without asking the platforms and the provider whether it works
    #[arg(long)]
    pub(super) no_check: bool,
    #[command(flatten)]
    pub(super) consent: Consent,
}

/// Which model answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Brain {
    /// A model on this machine
    Ollama,
    /// OpenAI, or a server that speaks its API
    Openai,
    /// Claude
    Anthropic,
    /// Many models behind one key
    Openrouter,
    /// Gemini
    Google,
    /// Fast open models
    Groq,
    /// Grok
    Xai,
    /// Mistral
    Mistral,
    /// The built-in script: pattern matching, not AI
    Offline,
}

impl Brain {
    /// The variable of its API key, if it needs one.
    pub(super) fn key_variable(self) -> Option<&'static str> {
        match self {
            Self::Openai => Some(models::OPENAI_API_KEY.name),
            Self::Anthropic => Some(models::ANTHROPIC_API_KEY.name),
            Self::Openrouter => Some(models::OPENROUTER_API_KEY.name),
            Self::Google => Some(models::GOOGLE_API_KEY.name),
            Self::Groq => Some(models::GROQ_API_KEY.name),
            Self::Xai => Some(models::XAI_API_KEY.name),
            Self::Mistral => Some(models::MISTRAL_API_KEY.name),
            Self::Ollama | Self::Offline => None,
        }
    }

    /// Its value for `GALATEA_MODEL_PROVIDER`.
    pub(super) fn provider(self) -> &'static str {
        match self {
            Self::Ollama => "ollama",
            Self::Openai => "openai",
            Self::Anthropic => "anthropic",
            Self::Openrouter => "openrouter",
            Self::Google => "google",
            Self::Groq => "groq",
            Self::Xai => "xai",
            Self::Mistral => "mistral",
            Self::Offline => "offline",
        }
    }
}
