//! Settings of models for sound, pictures and speech. Names are elizaOS's where it has them.

use galatea_core::Variable;

/// Services that make sound readable.
pub const TRANSCRIPTION_PROVIDER: Variable = Variable::new(
    "TRANSCRIPTION_PROVIDER",
    "Who makes voice messages and audio files readable: openai, groq, google, several in order (groq,openai), or none. Unset: the provider that answers, \
     if it can, then every other configured one (MODEL_FALLBACK=none: only the first); from a model server of one's own only to another of one's own.",
);
/// OpenAI: transcription model.
pub const OPENAI_TRANSCRIPTION_MODEL: Variable = Variable::new(
    "OPENAI_TRANSCRIPTION_MODEL",
    "Model of OpenAI that makes sound readable; unset: gpt-transcribe. With another server than OpenAI's, sound is not read until this is set.",
);
/// OpenAI: address for transcription.
pub const OPENAI_TRANSCRIPTION_URL: Variable = Variable::new(
    "OPENAI_TRANSCRIPTION_URL",
    "Address of another server for transcription that speaks OpenAI's API, such as one with Whisper on this machine.",
);
/// OpenAI: key for transcription.
pub const OPENAI_TRANSCRIPTION_API_KEY: Variable = Variable::new(
    "OPENAI_TRANSCRIPTION_API_KEY",
    "Key of the server named by OPENAI_TRANSCRIPTION_URL.",
)
.secret();
/// Groq: transcription model.
pub const GROQ_TRANSCRIPTION_MODEL: Variable = Variable::new(
    "GROQ_TRANSCRIPTION_MODEL",
    "Model of Groq that makes sound readable; unset: whisper-large-v3-turbo.",
);
/// Google: transcription model.
pub const GOOGLE_TRANSCRIPTION_MODEL: Variable = Variable::new(
    "GOOGLE_TRANSCRIPTION_MODEL",
    "Model of Google that makes sound readable; unset: gemini-3.5-flash-lite.",
);
/// OpenAI: model that makes pictures.
pub const OPENAI_IMAGE_MODEL: Variable = Variable::new(
    "OPENAI_IMAGE_MODEL",
    "Model that makes pictures, such as gpt-image-1-mini; unset: none are made. A picture costs more than many answers.",
);
/// OpenAI: model that speaks.
pub const OPENAI_TTS_MODEL: Variable = Variable::new(
    "OPENAI_TTS_MODEL",
    "Model that speaks, such as gpt-4o-mini-tts; unset: nothing is spoken.",
);
/// OpenAI: voice.
pub const OPENAI_TTS_VOICE: Variable =
    Variable::new("OPENAI_TTS_VOICE", "Voice of OPENAI_TTS_MODEL.").or("nova");
/// Groq: model that speaks.
pub const GROQ_TTS_MODEL: Variable = Variable::new(
    "GROQ_TTS_MODEL",
    "Model of Groq that speaks, such as canopylabs/orpheus-v1-english; unset: none.",
);
/// Groq: voice.
pub const GROQ_TTS_VOICE: Variable =
    Variable::new("GROQ_TTS_VOICE", "Voice of GROQ_TTS_MODEL.").or("autumn");

/// Settings of sound, pictures and speech.
pub const MEDIA: &[Variable] = &[
    TRANSCRIPTION_PROVIDER,
    OPENAI_TRANSCRIPTION_MODEL,
    OPENAI_TRANSCRIPTION_URL,
    OPENAI_TRANSCRIPTION_API_KEY,
    GROQ_TRANSCRIPTION_MODEL,
    GOOGLE_TRANSCRIPTION_MODEL,
    OPENAI_IMAGE_MODEL,
    OPENAI_TTS_MODEL,
    OPENAI_TTS_VOICE,
    GROQ_TTS_MODEL,
    GROQ_TTS_VOICE,
];
