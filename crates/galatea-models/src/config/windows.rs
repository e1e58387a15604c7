//! Reads the context windows that the settings give to models.

use galatea_core::{Result, Settings};

use super::variables::{MODEL_CONTEXT_WINDOW, OLLAMA_CONTEXT_LENGTH};

/// Smallest window accepted, in tokens: the least that a prompt with a character needs.
const LEAST: u32 = 512;

/// Windows from `MODEL_CONTEXT_WINDOW` and `OLLAMA_CONTEXT_LENGTH`, in tokens.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Windows {
    all: Option<u32>,
    named: Vec<(String, u32)>,
    ollama: Option<u32>,
}

impl Windows {
    pub(super) fn read(settings: &Settings) -> Result<Self> {
        let mut windows = Self::default();
        for item in settings.list(&MODEL_CONTEXT_WINDOW)?.unwrap_or_default() {
            let (name, number) = item
                .rsplit_once('=')
                .map_or((None, item.as_str()), |(name, number)| (Some(name.trim()), number));
            let number = number.trim().parse::<u32>().ok().filter(|number| *number >= LEAST);
            match (name, number) {
                (None, Some(number)) => windows.all = Some(number),
                (Some(name), Some(number)) if !name.is_empty() => {
                    windows.named.push((name.to_owned(), number))
                }
                _ => {
                    return Err(
                        settings.invalid_setting(&MODEL_CONTEXT_WINDOW, "is neither a number of at least 512 nor a list such as llama3.1:8b=32768,gpt-4o=128000")
                    );
                }
            }
        }
        if let Some(setting) = settings.find(&OLLAMA_CONTEXT_LENGTH) {
            let number = setting.text().trim().parse::<u32>().ok();
            // Ollama reads 0 as unset (envconfig.ContextLength).
            windows.ollama = match number {
                Some(0) => None,
                Some(number) if number >= LEAST => Some(number),
                _ => {
                    return Err(settings.invalid_setting(
                        &OLLAMA_CONTEXT_LENGTH,
                        "is neither 0 nor a number of at least 512",
                    ));
                }
            };
        }
        Ok(windows)
    }

    /// The window of a provider's model, if one was set.
    pub(super) fn of(&self, provider: &str, model: &str) -> Option<u32> {
        self.named
            .iter()
            .find(|(name, _)| name.eq_ignore_ascii_case(model))
            .map(|(_, number)| *number)
            .or(self.all)
            .or_else(|| self.ollama.filter(|_| provider == "ollama"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_for_all_and_some_by_name() {
        let read = |text: &'static str| {
            Windows::read(&Settings::from_pairs([("MODEL_CONTEXT_WINDOW", text)]))
        };
        let windows = read("16000, llama3.1:8b=32768").unwrap();
        let of = |model| windows.of("openai", model);
        assert_eq!((of("LLAMA3.1:8b"), of("x")), (Some(32_768), Some(16_000)));
        assert_eq!(Windows::read(&Settings::default()).unwrap().of("openai", "x"), None);
        for odd in ["8k", "100", "=8192", "a=", "a=b"] {
            assert!(read(odd).unwrap_err().to_string().contains("MODEL_CONTEXT_WINDOW"), "{odd}");
        }
    }

    #[test]
    fn ollamas_own_setting_is_for_its_models_and_counts_last() {
        let read = |pairs: &[(&'static str, &'static str)]| {
            Windows::read(&Settings::from_pairs(pairs.iter().copied()))
        };
        let ollama = ("OLLAMA_CONTEXT_LENGTH", "32768");
        let windows = read(&[ollama, ("MODEL_CONTEXT_WINDOW", "gemma3=16000")]).unwrap();
        assert_eq!(windows.of("ollama", "gemma3"), Some(16_000));
        assert_eq!(windows.of("ollama", "phi4"), Some(32_768));
        assert_eq!(windows.of("openai", "phi4"), None);
        assert_eq!(read(&[("OLLAMA_CONTEXT_LENGTH", "0")]).unwrap().of("ollama", "phi4"), None);
        for odd in ["4k", "100", "-1"] {
            let error = read(&[("OLLAMA_CONTEXT_LENGTH", odd)]).unwrap_err().to_string();
            assert!(error.contains("OLLAMA_CONTEXT_LENGTH"), "{odd}: {error}");
        }
    }
}
