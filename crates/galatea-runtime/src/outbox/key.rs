//! What a platform recognises a repeated delivery by.

use galatea_core::DeliveryId;

/// Base62 of the id: 22 characters hold 128 bits, and Discord's nonce takes 25.
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
    fn keys_are_short_and_distinct() {
        let (a, b) = (DeliveryId::fresh(), DeliveryId::fresh());
        assert_eq!(idempotency_key(a).len(), 22);
        assert_ne!(idempotency_key(a), idempotency_key(b));
        assert!(idempotency_key(a).bytes().all(|c| c.is_ascii_alphanumeric()));
    }
}
