//! Turns voice messages and sound files into words.

use galatea_core::{
    Error, Result, Timestamp,
    model::{MediaModels, Sound},
};

/// Largest sound file, in bytes: a bot may download no more from Telegram (Bot API, getFile), and
/// transcription services take 25 MB (OpenAI, "Create transcription").
pub(crate) const MAX_SOUND: usize = 20 << 20;
/// Longest sound that is transcribed. People pay for each minute, and messages to a bot are shorter
/// than this.
const LONGEST_MILLIS: u64 = 30 * 60 * 1_000;

/// The words of a sound.
///
/// # Errors
/// `Invalid` for what cannot be understood later either, and those of the model.
pub(crate) async fn transcribe(
    models: &MediaModels,
    bytes: Vec<u8>,
    deadline: Timestamp,
) -> Result<String> {
    let Some(model) = &models.transcription else {
        return Err(Error::invalid("no model reads sound"));
    };
    let Some(sound) = Sound::read(bytes) else {
        return Err(Error::invalid("its format is not known"));
    };
    if sound.millis > LONGEST_MILLIS {
        return Err(Error::invalid("it is longer than 30 minutes"));
    }
    let made = model.run(&sound, Some(deadline)).await?;
    match made.output.trim() {
        "" => Err(Error::invalid("nothing is said in it")),
        words => Ok(words.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use async_trait::async_trait;
    use galatea_core::{
        ModelInfo,
        model::{Made, MediaModel, MediaUsage, Transcription},
    };
    use std::sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    };

    #[derive(Default)]
    struct Ear {
        info: ModelInfo,
        words: &'static str,
        calls: AtomicUsize,
    }

    #[async_trait]
    impl MediaModel<Transcription> for Ear {
        fn info(&self) -> &ModelInfo {
            &self.info
        }
        async fn run(&self, _: &Sound, _: Option<Timestamp>) -> Result<Made<String>> {
            self.calls.fetch_add(1, Ordering::Relaxed);
            let used = MediaUsage::default();
            Ok(Made { output: self.words.to_owned(), used, micros: None, by: None })
        }
    }

    async fn of(bytes: &[u8], words: &'static str) -> (Result<String>, usize) {
        let ear = Arc::new(Ear { words, ..Ear::default() });
        let models =
            MediaModels { transcription: Some(Arc::clone(&ear) as _), ..MediaModels::default() };
        let heard = transcribe(&models, bytes.to_vec(), Timestamp(1)).await;
        (heard, ear.calls.load(Ordering::Relaxed))
    }

    fn flac(seconds: u64) -> Vec<u8> {
        let mut flac = b"fLaC".to_vec();
        flac.extend([0; 14]);
        flac.extend(((1_000_u64 << 44) | (1_000 * seconds)).to_be_bytes());
        flac
    }

    #[tokio::test]
    async fn only_a_sound_of_fair_length_costs_anything() {
        for (bytes, asked) in
            [(flac(1_800), 1), (flac(1_801), 0), (b"<html>".to_vec(), 0), (Vec::new(), 0)]
        {
            let (heard, calls) = of(&bytes, " yes ").await;
            assert_eq!((heard.is_ok(), calls), (asked == 1, asked));
        }
        assert_eq!(of(&flac(1), " yes ").await.0.unwrap(), "yes");
        assert_eq!(of(&flac(1), " ").await.0.unwrap_err().message(), "nothing is said in it");
    }
}
