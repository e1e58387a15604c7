//! Mark by which a platform recognises a repeated delivery.

use galatea_core::DeliveryId;

/// Base62 of the id: 22 characters hold 128 bits, and Discord's nonce takes 25. Written out here,
/// because the keys of stored deliveries are compared with those on the platform: another crate, or
/// another version of it, with other digits would make a read-back miss what was sent.
pub(super) fn idempotency_key(id: DeliveryId) -> String {
    const DIGITS: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    let mut value = id.0.as_u128();
    let mut key = [b'0'; 22];
    for place in key.iter_mut().rev() {
        // A remainder of 62 indexes 62 digits.
        *place = DIGITS[(value % 62) as usize];
        value /= 62;
    }
    key.iter().map(|b| char::from(*b)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_those_of_earlier_versions() {
        for (id, key) in [
            (0, "0000000000000000000000"),
            (61, "000000000000000000000z"),
            (62, "0000000000000000000010"),
            (u128::MAX, "7n42DGM5Tflk9n8mt7Fhc7"),
        ] {
            assert_eq!(idempotency_key(DeliveryId(uuid::Uuid::from_u128(id))), key);
        }
    }

    #[test]
    fn keys_are_short_and_distinct() {
        let (a, b) = (DeliveryId::fresh(), DeliveryId::fresh());
        assert_eq!(idempotency_key(a).len(), 22);
        assert_ne!(idempotency_key(a), idempotency_key(b));
        assert!(idempotency_key(a).bytes().all(|c| c.is_ascii_alphanumeric()));
    }
}
