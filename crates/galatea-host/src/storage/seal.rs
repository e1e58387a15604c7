//! Seals secrets that stand in the database: who reads its file cannot read them. XChaCha20-Poly1305;
//! the name of a row is part of what is authenticated, so a sealed value opens in its own row only.

use base64::{Engine as _, engine::general_purpose::STANDARD_NO_PAD};
use chacha20poly1305::{
    XChaCha20Poly1305, XNonce,
    aead::{Aead as _, KeyInit as _, Payload},
};
use galatea_core::{
    Error, ErrorKind, ExposeSecret as _, Result, SecretString, Settings, Variable, private_file,
};
use rand::RngExt as _;
use sha2::{Digest as _, Sha256};
use std::{fmt::Write as _, path::Path};

/// The key of sealed values, if it is not in the data folder.
pub const GALATEA_SECRET_KEY: Variable = Variable::new(
    "GALATEA_SECRET_KEY",
    "Key that seals secrets in the database: 32 bytes as 64 hexadecimal digits; unset keeps one in the file secret.key of the data folder. Processes of one PostgreSQL need the same.",
)
.secret();
/// Name of the file of the key.
const FILE: &str = "secret.key";
/// Beginning of a sealed value; another form would have another number.
const FORM: &str = "v1:";
/// Bytes of a nonce, long enough to be random.
const NONCE: usize = 24;

/// Seals and opens.
#[derive(Clone)]
pub struct Seal(XChaCha20Poly1305);

impl std::fmt::Debug for Seal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Seal")
    }
}

impl Seal {
    /// With this key.
    pub fn new(key: [u8; 32]) -> Self {
        Self(XChaCha20Poly1305::new(&key.into()))
    }

    /// With the key of the settings, or else that of the data folder, where one is made if there is none
    /// (mode 0600).
    ///
    /// # Errors
    /// `Invalid` (`GAL-SEAL-KEY`) for a key of another form, and the failure to read or write the file.
    pub fn open(settings: &Settings, data_dir: &Path) -> Result<Self> {
        if let Some(key) = settings.secret(&GALATEA_SECRET_KEY) {
            return Ok(Self::new(parse(key.expose_secret())?));
        }
        let path = data_dir.join(FILE);
        match std::fs::read_to_string(&path) {
            Ok(text) => Ok(Self::new(parse(text.trim())?)),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                let key: [u8; 32] = rand::rng().random();
                let mut text = key.iter().fold(String::with_capacity(65), |mut text, byte| {
                    let _ = write!(text, "{byte:02x}");
                    text
                });
                text.push('\n');
                private_file::replace_durably(&path, text.as_bytes())?;
                Ok(Self::new(key))
            }
            Err(error) => {
                Err(Error::new(ErrorKind::Unavailable, "the key of the secrets cannot be read")
                    .with_code("GAL-SEAL-KEY")
                    .with("file", path.display())
                    .with_fix("check the permissions of the data folder")
                    .with_source(error))
            }
        }
    }

    /// Seals a secret of the row of this name.
    ///
    /// # Errors
    /// `Unexpected` if it is far too long.
    pub fn seal(&self, row: &str, secret: &str) -> Result<String> {
        let nonce: [u8; NONCE] = rand::rng().random();
        let payload = Payload { msg: secret.as_bytes(), aad: row.as_bytes() };
        let sealed = self
            .0
            .encrypt(&XNonce::from(nonce), payload)
            .map_err(|_| Error::unexpected("a secret cannot be sealed"))?;
        let bytes = [nonce.as_slice(), &sealed].concat();
        Ok(format!("{FORM}{}", STANDARD_NO_PAD.encode(bytes)))
    }

    /// Opens a sealed secret of the row of this name.
    ///
    /// # Errors
    /// `Unauthorized` (`GAL-SEAL-OPEN`) with another key, in another row, and for what was changed.
    pub fn unseal(&self, row: &str, sealed: &str) -> Result<SecretString> {
        let refused = || {
            Error::new(ErrorKind::Unauthorized, "a stored secret cannot be opened with this key")
                .with_code("GAL-SEAL-OPEN")
                .with_fix("bring back the former GALATEA_SECRET_KEY or secret.key, or set the secret again")
        };
        let bytes = sealed.strip_prefix(FORM).ok_or_else(refused)?;
        let bytes = STANDARD_NO_PAD.decode(bytes).map_err(|_| refused())?;
        let (nonce, cipher) = bytes.split_at_checked(NONCE).ok_or_else(refused)?;
        let nonce: [u8; NONCE] = nonce.try_into().map_err(|_| refused())?;
        let payload = Payload { msg: cipher, aad: row.as_bytes() };
        let open = self.0.decrypt(&XNonce::from(nonce), payload).map_err(|_| refused())?;
        String::from_utf8(open).map(SecretString::from).map_err(|_| refused())
    }
}

fn parse(text: &str) -> Result<[u8; 32]> {
    let wrong = || {
        Error::invalid("the key of the secrets has another form")
            .with_code("GAL-SEAL-KEY")
            .with_fix("write 64 hexadecimal digits; `openssl rand -hex 32` makes them")
    };
    let text = text.trim();
    if text.len() != 64 || !text.is_ascii() {
        return Err(wrong());
    }
    let mut key = [0; 32];
    for (byte, pair) in key.iter_mut().zip(text.as_bytes().chunks(2)) {
        let pair = std::str::from_utf8(pair).map_err(|_| wrong())?;
        *byte = u8::from_str_radix(pair, 16).map_err(|_| wrong())?;
    }
    Ok(key)
}

/// What elizaOS takes if SECRET_SALT is not set.
const USUAL_SALT: &str = "secretsalt";

/// Opens a value that elizaOS stored as `iv:cipher` (AES-256-CBC under the SHA-256 of its SECRET_SALT).
/// None for any other text, and with another salt.
pub fn of_elizaos(text: &str, salt: Option<&str>) -> Option<SecretString> {
    use aes::cipher::{BlockModeDecrypt as _, KeyIvInit as _, block_padding::Pkcs7};
    let (iv, cipher) = text.split_once(':')?;
    let (iv, mut cipher) = (unhex(iv)?, unhex(cipher)?);
    let iv: [u8; 16] = iv.try_into().ok()?;
    if cipher.is_empty() || cipher.len() % 16 != 0 {
        return None;
    }
    let key: [u8; 32] = Sha256::digest(salt.unwrap_or(USUAL_SALT).as_bytes()).into();
    let mode = cbc::Decryptor::<aes::Aes256>::new(&key.into(), &iv.into());
    let plain = mode.decrypt_padded::<Pkcs7>(&mut cipher).ok()?;
    String::from_utf8(plain.to_vec()).ok().map(SecretString::from)
}

fn unhex(text: &str) -> Option<Vec<u8>> {
    if !text.len().is_multiple_of(2) || !text.is_ascii() {
        return None;
    }
    let pairs = text.as_bytes().chunks(2);
    pairs.map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_opens_with_its_key_in_its_row_only() {
        let (seal, other) = (Seal::new([7; 32]), Seal::new([8; 32]));
        let sealed = seal.seal("setting:A", "canary").unwrap();
        assert_ne!(sealed, seal.seal("setting:A", "canary").unwrap(), "nonces differ");
        assert!(!sealed.contains("canary"));
        assert_eq!(seal.unseal("setting:A", &sealed).unwrap().expose_secret(), "canary");
        let mut changed = sealed.clone();
        changed.pop();
        for (seal, row, text) in [
            (&other, "setting:A", sealed.as_str()),
            (&seal, "setting:B", &sealed),
            (&seal, "setting:A", &changed),
            (&seal, "setting:A", "v1:"),
            (&seal, "setting:A", "canary"),
        ] {
            assert_eq!(seal.unseal(row, text).unwrap_err().code(), Some("GAL-SEAL-OPEN"));
        }
    }

    #[test]
    fn the_key_is_made_once_and_readable_by_its_owner_alone() {
        use std::os::unix::fs::PermissionsExt as _;
        let dir = tempfile::tempdir().unwrap();
        let sealed = Seal::open(&Settings::default(), dir.path()).unwrap().seal("r", "x").unwrap();
        let again = Seal::open(&Settings::default(), dir.path()).unwrap();
        assert_eq!(again.unseal("r", &sealed).unwrap().expose_secret(), "x");
        let mode = dir.path().join(FILE).metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        let settings = Settings::from_pairs([("GALATEA_SECRET_KEY", "00".repeat(32))]);
        let elsewhere = Seal::open(&settings, dir.path()).unwrap();
        assert!(elsewhere.unseal("r", &sealed).is_err());
        for bad in ["", "00", &"zz".repeat(32), &"ü".repeat(32)] {
            assert_eq!(parse(bad).unwrap_err().code(), Some("GAL-SEAL-KEY"), "{bad}");
        }
    }

    /// Made with elizaOS's `encryptStringValue` under the salt `secretsalt`.
    #[test]
    fn values_of_elizaos_are_opened_with_their_salt() {
        use aes::cipher::{BlockModeEncrypt as _, KeyIvInit as _, block_padding::Pkcs7};
        let encrypt = |salt: &str, text: &str| {
            let key: [u8; 32] = Sha256::digest(salt.as_bytes()).into();
            let mode = cbc::Encryptor::<aes::Aes256>::new(&key.into(), &[3; 16].into());
            let mut buffer = vec![0; text.len() + 16];
            buffer[..text.len()].copy_from_slice(text.as_bytes());
            let cipher = mode.encrypt_padded::<Pkcs7>(&mut buffer, text.len()).unwrap();
            let hex: String = cipher.iter().map(|byte| format!("{byte:02x}")).collect();
            format!("{}:{hex}", "03".repeat(16))
        };
        let open = |text: &str, salt| {
            of_elizaos(text, salt).map(|secret| secret.expose_secret().to_owned())
        };
        let usual = encrypt("secretsalt", "sk-canary");
        assert_eq!(open(&usual, None).as_deref(), Some("sk-canary"));
        assert_eq!(open(&encrypt("mine", "sk"), Some("mine")).as_deref(), Some("sk"));
        assert_ne!(open(&usual, Some("mine")).as_deref(), Some("sk-canary"));
        for other in ["", "plain", "a:b", "00:11", &format!("{}:", "03".repeat(16))] {
            assert_eq!(open(other, None), None, "{other}");
        }
    }
}
