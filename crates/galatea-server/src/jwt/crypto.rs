//! The three algorithms of tokens over ring: HS256, RS256 and EdDSA (Ed25519).

use jsonwebtoken::{
    Algorithm, AlgorithmFamily, DecodingKey, DecodingKeyKind, EncodingKey,
    crypto::{CryptoProvider, JwtSigner, JwtVerifier, KeyUtils},
    errors::{ErrorKind, Result},
    signature::{Error, Signer, Verifier},
};
use ring::{
    hmac,
    signature::{ED25519, RSA_PKCS1_2048_8192_SHA256, RsaPublicKeyComponents, UnparsedPublicKey},
};

/// Smallest modulus of RSA in bytes: 2,048 bits (RFC 7518 §3.3).
const MODULUS: usize = 256;

static PROVIDER: CryptoProvider = CryptoProvider {
    signer_factory: signer,
    verifier_factory: verifier,
    key_utils: KeyUtils {
        rsa_pub_components_from_private_key: |_| Err(ErrorKind::InvalidKeyFormat.into()),
        rsa_pub_components_from_public_key: |_| Err(ErrorKind::InvalidKeyFormat.into()),
        ec_pub_components_from_private_key: |_, _| Err(ErrorKind::InvalidKeyFormat.into()),
        ed_pub_components_from_private_key: |_, _| Err(ErrorKind::InvalidKeyFormat.into()),
        compute_digest: |_, _| Err(ErrorKind::InvalidKeyFormat.into()),
    },
};

/// Makes it the provider of this process. Called before tokens are signed or checked; a second call
/// does nothing.
pub(super) fn install() {
    let _ = PROVIDER.install_default();
}

fn signer(algorithm: &Algorithm, key: &EncodingKey) -> Result<Box<dyn JwtSigner>> {
    match (algorithm, key.family()) {
        (Algorithm::HS256, AlgorithmFamily::Hmac) => Ok(Box::new(Hmac::new(key.as_bytes()))),
        _ => Err(ErrorKind::InvalidAlgorithm.into()),
    }
}

fn verifier(algorithm: &Algorithm, key: &DecodingKey) -> Result<Box<dyn JwtVerifier>> {
    match (algorithm, key.family(), key.kind()) {
        (Algorithm::HS256, AlgorithmFamily::Hmac, DecodingKeyKind::SecretOrDer(secret)) => {
            Ok(Box::new(Hmac::new(secret)))
        }
        (Algorithm::RS256, AlgorithmFamily::Rsa, DecodingKeyKind::RsaModulusExponent { n, e })
            if n.len() >= MODULUS =>
        {
            Ok(Box::new(Rsa(RsaPublicKeyComponents { n: n.clone(), e: e.clone() })))
        }
        (Algorithm::EdDSA, AlgorithmFamily::Ed, DecodingKeyKind::SecretOrDer(key)) => {
            Ok(Box::new(Ed(UnparsedPublicKey::new(&ED25519, key.clone()))))
        }
        _ => Err(ErrorKind::InvalidAlgorithm.into()),
    }
}

struct Hmac(hmac::Key);

impl Hmac {
    fn new(secret: &[u8]) -> Self {
        Self(hmac::Key::new(hmac::HMAC_SHA256, secret))
    }
}

impl Signer<Vec<u8>> for Hmac {
    fn try_sign(&self, message: &[u8]) -> std::result::Result<Vec<u8>, Error> {
        Ok(hmac::sign(&self.0, message).as_ref().to_vec())
    }
}

impl JwtSigner for Hmac {
    fn algorithm(&self) -> Algorithm {
        Algorithm::HS256
    }
}

impl Verifier<Vec<u8>> for Hmac {
    fn verify(&self, message: &[u8], signature: &Vec<u8>) -> std::result::Result<(), Error> {
        hmac::verify(&self.0, message, signature).map_err(|_| Error::new())
    }
}

impl JwtVerifier for Hmac {
    fn algorithm(&self) -> Algorithm {
        Algorithm::HS256
    }
}

struct Rsa(RsaPublicKeyComponents<Vec<u8>>);

impl Verifier<Vec<u8>> for Rsa {
    fn verify(&self, message: &[u8], signature: &Vec<u8>) -> std::result::Result<(), Error> {
        self.0.verify(&RSA_PKCS1_2048_8192_SHA256, message, signature).map_err(|_| Error::new())
    }
}

impl JwtVerifier for Rsa {
    fn algorithm(&self) -> Algorithm {
        Algorithm::RS256
    }
}

struct Ed(UnparsedPublicKey<Vec<u8>>);

impl Verifier<Vec<u8>> for Ed {
    fn verify(&self, message: &[u8], signature: &Vec<u8>) -> std::result::Result<(), Error> {
        self.0.verify(message, signature).map_err(|_| Error::new())
    }
}

impl JwtVerifier for Ed {
    fn algorithm(&self) -> Algorithm {
        Algorithm::EdDSA
    }
}
