//! Scripts whose words cannot be found by the spaces between them.

/// True if a character belongs to a script in which spaces do not separate words: Chinese, Japanese,
/// Thai, Lao, Khmer and Burmese; Korean joins particles to words. Stores index such text by pairs of
/// characters, and a name in it is looked for without word boundaries.
pub fn is_unspaced(c: char) -> bool {
    matches!(c,
        '\u{e00}'..='\u{eff}' // Thai, Lao
        | '\u{1000}'..='\u{109f}' // Burmese
        | '\u{1780}'..='\u{17ff}' // Khmer
        | '\u{3005}'..='\u{3007}' | '\u{3040}'..='\u{30ff}' | '\u{31f0}'..='\u{31ff}' // Kana
        | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' // Han
        | '\u{ac00}'..='\u{d7af}' // Korean
        | '\u{20000}'..='\u{323af}') // Han
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scripts_with_spaces_are_told_from_those_without() {
        for text in ["猫𠀀", "ねこネコ々", "แมว", "ແມວ", "ឆ្មា", "ကြောင်", "고양이"]
        {
            assert!(text.chars().all(is_unspaced), "{text}");
        }
        for text in ["cat", "кошка", "γάτα", "قط", "बिल्ली", "12_", " 。"] {
            assert!(!text.chars().any(is_unspaced), "{text}");
        }
    }
}
