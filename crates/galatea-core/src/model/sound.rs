//! Kind and length of a sound file. Pure; bytes come from strangers,
//! and every number in them is checked.

use super::Sound;

/// Bytes of a second where the file does not tell its length: 32 kbit/s, about the lowest rate of
/// speech that people send. A higher rate makes the estimate too long, which is the safe side for
/// limits of money.
const BYTES_PER_SECOND: u64 = 4_000;

impl Sound {
    /// Reads a sound file; none where its first bytes are of no format that transcription services
    /// take (OpenAI, "Create transcription", `file`: flac, mp3, mp4, ogg, wav, webm).
    pub fn read(bytes: Vec<u8>) -> Option<Self> {
        let (mime, ending) = format(&bytes)?;
        let millis = match ending {
            "ogg" => ogg(&bytes),
            "wav" => wav(&bytes),
            "flac" => flac(&bytes),
            "m4a" => mp4(&bytes),
            "mp3" => mp3(&bytes),
            _ => None,
        };
        let length = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
        let millis = millis.unwrap_or_else(|| length.saturating_mul(1_000) / BYTES_PER_SECOND);
        Some(Self { bytes, mime, name: format!("sound.{ending}"), millis })
    }
}

/// MIME type and file ending by the first bytes: a file's name and a platform's claim may be wrong.
fn format(bytes: &[u8]) -> Option<(&'static str, &'static str)> {
    Some(match bytes {
        [b'O', b'g', b'g', b'S', ..] => ("audio/ogg", "ogg"),
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'A', b'V', b'E', ..] => ("audio/wav", "wav"),
        [b'f', b'L', b'a', b'C', ..] => ("audio/flac", "flac"),
        [_, _, _, _, b'f', b't', b'y', b'p', ..] => ("audio/mp4", "m4a"),
        [0x1a, 0x45, 0xdf, 0xa3, ..] => ("audio/webm", "webm"),
        [b'I', b'D', b'3', ..] => ("audio/mpeg", "mp3"),
        // A frame of layer III: eleven bits of ones, a version, then the layer (ISO 11172-3).
        [0xff, second, ..] if second & 0xe6 == 0xe2 => ("audio/mpeg", "mp3"),
        _ => return None,
    })
}

fn number<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..at.checked_add(N)?)?.try_into().ok()
}

fn find(bytes: &[u8], word: &[u8]) -> Option<usize> {
    bytes.windows(word.len()).position(|window| window == word)
}

fn millis(samples: u64, rate: u64) -> Option<u64> {
    samples.checked_mul(1_000)?.checked_div(rate)
}

/// The position of the last page, in samples of the codec in the first page (RFC 3533 §6; RFC 7845
/// §4: Opus always counts 48,000 a second; Vorbis I §4.2.2).
fn ogg(bytes: &[u8]) -> Option<u64> {
    let head = &bytes[..bytes.len().min(512)];
    let rate = if find(head, b"OpusHead").is_some() {
        48_000
    } else {
        let at = find(head, b"\x01vorbis")?;
        u64::from(u32::from_le_bytes(number(head, at + 12)?))
    };
    let last = bytes.windows(4).rposition(|window| window == b"OggS")?;
    // A page in the middle of a packet has the position -1.
    let samples = u64::from_le_bytes(number(bytes, last + 6)?);
    if samples == u64::MAX { None } else { millis(samples, rate) }
}

/// Length, from the bytes per second in the header (RFC 2361).
fn wav(bytes: &[u8]) -> Option<u64> {
    let at = find(&bytes[..bytes.len().min(4_096)], b"fmt ")?;
    let rate = u64::from(u32::from_le_bytes(number(bytes, at + 16)?));
    millis(u64::try_from(bytes.len()).ok()?, rate)
}

/// Length by the first block, STREAMINFO (RFC 9639 §8.2): 20 bits of rate, 3 and 5 bits of channels
/// and width, 36 bits of samples.
fn flac(bytes: &[u8]) -> Option<u64> {
    let word = u64::from_be_bytes(number(bytes, 18)?);
    let samples = word & ((1 << 36) - 1);
    if samples == 0 { None } else { millis(samples, word >> 44) }
}

/// Length by the movie header (ISO 14496-12 §8.2.2), in its version 0.
fn mp4(bytes: &[u8]) -> Option<u64> {
    let at = find(bytes, b"mvhd")? + 4;
    if *bytes.get(at)? != 0 {
        return None;
    }
    let scale = u64::from(u32::from_be_bytes(number(bytes, at + 12)?));
    millis(u64::from(u32::from_be_bytes(number(bytes, at + 16)?)), scale)
}

/// Length by the bit rate of the first frame (ISO 11172-3 §2.4.2.3, layer III).
fn mp3(bytes: &[u8]) -> Option<u64> {
    const KBIT: [u64; 15] = [0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320];
    // Versions 2 and 2.5 (ISO 13818-3).
    const KBIT_LOW: [u64; 15] = [0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160];
    let frame = bytes.windows(3).find(|window| window[0] == 0xff && window[1] & 0xe6 == 0xe2)?;
    let table = if frame[1] & 0x18 == 0x18 { KBIT } else { KBIT_LOW };
    let kbit = *table.get(usize::from(frame[2] >> 4))?;
    u64::try_from(bytes.len()).ok()?.checked_mul(8)?.checked_div(kbit)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of(bytes: Vec<u8>) -> (String, u64) {
        let sound = Sound::read(bytes).unwrap();
        (sound.name, sound.millis)
    }

    #[test]
    fn a_voice_message_tells_its_length() {
        let page = |samples: u64, payload: &[u8]| {
            let mut page = b"OggS\0\0".to_vec();
            page.extend(samples.to_le_bytes());
            page.extend([0; 13]);
            page.extend(payload);
            page
        };
        let mut file = page(0, b"OpusHead\x01\x01\x38\x01\x80\xbb\0\0\0\0\0");
        file.extend(page(48_000 * 12, &[7; 300]));
        assert_eq!(of(file), ("sound.ogg".to_owned(), 12_000));
        let mut file = page(0, b"\x01vorbis\0\0\0\0\x01\x44\xac\0\0");
        file.extend(page(44_100 * 3, &[7; 300]));
        assert_eq!(of(file).1, 3_000);
    }

    #[test]
    fn other_formats_tell_theirs() {
        let mut wav =
            b"RIFF\0\0\0\0WAVEfmt \x10\0\0\0\x01\0\x01\0\x40\x1f\0\0\x80\x3e\0\0".to_vec();
        wav.resize(16_000 * 2, 0);
        assert_eq!(of(wav), ("sound.wav".to_owned(), 2_000));
        let mut flac = b"fLaC\0\0\0\x22".to_vec();
        flac.extend([0; 10]);
        flac.extend(((44_100_u64 << 44) | (44_100 * 5)).to_be_bytes());
        assert_eq!(of(flac), ("sound.flac".to_owned(), 5_000));
        let mut mp4 = b"\0\0\0\x18ftypM4A \0\0\0\0....mvhd\0\0\0\0\0\0\0\0\0\0\0\0".to_vec();
        mp4.extend(1_000_u32.to_be_bytes());
        mp4.extend(7_500_u32.to_be_bytes());
        assert_eq!(of(mp4), ("sound.m4a".to_owned(), 7_500));
        let mut mp3 = b"ID3\x04\0\0\0\0\0\0\xff\xfb\x90\0".to_vec();
        mp3.resize(16_000, 0);
        assert_eq!(of(mp3), ("sound.mp3".to_owned(), 1_000), "128 kbit/s");
        assert_eq!(of([b"\x1a\x45\xdf\xa3".as_slice(), &[0; 7_996]].concat()).1, 2_000, "by size");
    }

    #[test]
    fn what_is_no_sound_is_none() {
        for bytes in
            [b"".as_slice(), b"<html>", b"RIFF\0\0\0\0WEBP", b"\x89PNG\r\n", b"\xff\xd8\xff"]
        {
            assert_eq!(Sound::read(bytes.to_vec()), None, "{bytes:?}");
        }
    }

    proptest! {
        #[test]
        fn no_bytes_panic(start in 0_usize..7, rest in proptest::collection::vec(any::<u8>(), 0..600)) {
            const HEADS: [&[u8]; 7] = [
                b"OggS", b"RIFF....WAVEfmt ", b"fLaC", b"....ftypmvhd", b"ID3", b"\xff\xfb",
                b"OggSOpusHeadOggS",
            ];
            let sound = Sound::read([HEADS[start], &rest].concat());
            prop_assert!(sound.is_some());
        }
    }
}
