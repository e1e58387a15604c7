//! Models that turn sound into words, words into pictures, and words into speech.

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use super::{ModelInfo, Usage};
use crate::{clock::Timestamp, error::Result};

/// A kind of work with media, such as [`Transcription`]. It ties a request to its result, so that
/// retries, breakers, fallbacks and accounting are written once for all kinds.
pub trait MediaTask: Send + Sync + 'static {
    /// The input of one call.
    type Request: Send + Sync;
    /// The output of one call.
    type Output: Send;
    /// elizaOS's name of the model type, such as `TRANSCRIPTION`.
    const TYPE: &'static str;
    /// True if a call that ended without an answer may be repeated. False where the provider may
    /// have made and billed something that then would be paid twice.
    const REPEATABLE: bool;

    /// Expected use of a call. Asked before the call, to reserve its cost.
    fn expected(request: &Self::Request) -> MediaUsage;
}

/// A model for one kind of work with media.
#[async_trait]
pub trait MediaModel<T: MediaTask>: Send + Sync {
    /// Name, provider and prices. No I/O. Called before and after each call, for prices and logs.
    fn info(&self) -> &ModelInfo;

    /// Makes one call. It ends at `deadline`, if there is one; otherwise the model's own time limit
    /// applies. Called for each sound, picture or text that a turn hands over, several at once.
    ///
    /// # Errors
    /// Those of the service: see `galatea-models`.
    async fn run(
        &self,
        request: &T::Request,
        deadline: Option<Timestamp>,
    ) -> Result<Made<T::Output>>;
}

/// Product of a media model.
#[derive(Debug, Clone, PartialEq)]
pub struct Made<T> {
    /// The product.
    pub output: T,
    /// Use, as the provider counts; as expected where the provider does not count.
    pub used: MediaUsage,
    /// Cost, in micro-dollars; none where the price is unknown.
    pub micros: Option<u64>,
    /// Provider and model that made it, where several could have.
    pub by: Option<String>,
}

/// Use of a call to a media model, each in the unit that some provider charges by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct MediaUsage {
    /// Tokens, for models that are priced by them.
    pub tokens: Usage,
    /// Sound that was read, in milliseconds.
    pub sound_ms: u64,
    /// Pictures that were made.
    pub images: u64,
    /// Characters that were spoken.
    pub characters: u64,
}

/// Price of a media model by other units than tokens, in micro-dollars.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct UnitPrice {
    /// A minute of sound.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub minute: Option<u64>,
    /// A picture of the usual size and quality.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub image: Option<u64>,
    /// Micro-dollars for a million characters of the input.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub characters: Option<u64>,
}

impl MediaUsage {
    /// Cost of this with a model, in micro-dollars, rounded up; none where its price is unknown.
    /// A price for a unit counts before one for tokens.
    pub fn cost(&self, info: &ModelInfo) -> Option<u64> {
        let unit = info.unit_price.unwrap_or_default();
        let counted = [
            (self.sound_ms, unit.minute, 60_000),
            (self.images, unit.image, 1),
            (self.characters, unit.characters, 1_000_000),
        ];
        for (used, price, per) in counted {
            if let Some(price) = price.filter(|_| used > 0) {
                let sum = (u128::from(used) * u128::from(price)).div_ceil(per);
                return Some(u64::try_from(sum).unwrap_or(u64::MAX));
            }
        }
        let tokens = self.tokens.input + self.tokens.output;
        info.price.filter(|_| tokens > 0).map(|price| price.of(self.tokens))
    }
}

/// Turns sound into words.
#[derive(Debug, Clone, Copy)]
pub enum Transcription {}

/// Sound to be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sound {
    /// The whole file, in its container format.
    pub bytes: Vec<u8>,
    /// Its MIME type, as its first bytes show.
    pub mime: &'static str,
    /// A file name with an ending that fits the type: services go by it.
    pub name: String,
    /// Its length, in milliseconds, as far as its bytes tell.
    pub millis: u64,
}

impl MediaTask for Transcription {
    type Request = Sound;
    type Output = String;
    const TYPE: &'static str = "TRANSCRIPTION";
    const REPEATABLE: bool = true;

    fn expected(sound: &Sound) -> MediaUsage {
        MediaUsage { sound_ms: sound.millis, ..MediaUsage::default() }
    }
}

/// Makes a picture from words.
#[derive(Debug, Clone, Copy)]
pub enum ImageGeneration {}

/// Tokens of a square picture of high quality (OpenAI, "Image generation", cost and latency).
const PICTURE_TOKENS: u64 = 4_160;

/// A picture that is asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImageRequest {
    /// Description of the picture.
    pub prompt: String,
}

impl MediaTask for ImageGeneration {
    type Request = ImageRequest;
    type Output = MediaFile;
    const TYPE: &'static str = "IMAGE";
    const REPEATABLE: bool = false;

    fn expected(request: &ImageRequest) -> MediaUsage {
        let input = u64::try_from(request.prompt.len() / 3 + 1).unwrap_or(u64::MAX);
        let tokens = Usage { input, output: PICTURE_TOKENS, ..Usage::default() };
        MediaUsage { tokens, images: 1, ..MediaUsage::default() }
    }
}

/// Makes speech from words.
#[derive(Debug, Clone, Copy)]
pub enum TextToSpeech {}

/// Speech that is asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpeechRequest {
    /// The words to speak.
    pub text: String,
}

impl MediaTask for TextToSpeech {
    type Request = SpeechRequest;
    type Output = MediaFile;
    const TYPE: &'static str = "TEXT_TO_SPEECH";
    const REPEATABLE: bool = false;

    fn expected(request: &SpeechRequest) -> MediaUsage {
        let characters = u64::try_from(request.text.chars().count()).unwrap_or(u64::MAX);
        MediaUsage { characters, ..MediaUsage::default() }
    }
}

/// A file that a model made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MediaFile {
    /// The whole file, in its container format.
    pub bytes: Vec<u8>,
    /// Its MIME type, such as `image/png` or `audio/mpeg`.
    pub mime: &'static str,
    /// The ending of its name: `png`, `mp3`.
    pub ending: &'static str,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Price;

    #[test]
    fn units_are_charged_before_tokens_and_an_unknown_price_is_none() {
        let mut info = ModelInfo {
            unit_price: Some(UnitPrice { minute: Some(4_500), ..UnitPrice::default() }),
            ..ModelInfo::default()
        };
        let of = |info: &ModelInfo, sound_ms, output| {
            let tokens = Usage { output, ..Usage::default() };
            MediaUsage { tokens, sound_ms, ..MediaUsage::default() }.cost(info)
        };
        assert_eq!(of(&info, 60_000, 0), Some(4_500));
        assert_eq!(of(&info, 1, 7), Some(1), "rounded up, and the tokens are not charged besides");
        assert_eq!(of(&info, 0, 7), None);
        info.price = Some(Price { output: 40_000_000, ..Price::default() });
        assert_eq!(of(&info, 0, 4_160), Some(166_400));
        info.unit_price = Some(UnitPrice { image: Some(40_000), ..UnitPrice::default() });
        let drawn = MediaUsage { images: 2, ..MediaUsage::default() };
        assert_eq!(drawn.cost(&info), Some(80_000));
        let said = MediaUsage { characters: 100, ..MediaUsage::default() };
        assert_eq!(said.cost(&info), None, "no price for characters, and no tokens");
    }
}
