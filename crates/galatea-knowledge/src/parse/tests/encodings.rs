//! Text in the encodings that people still have, and bytes that are none of them.

use encoding_rs::{
    BIG5, EUC_JP, EUC_KR, Encoding, GB18030, GBK, IBM866, ISO_2022_JP, ISO_8859_2, ISO_8859_7,
    KOI8_R, KOI8_U, SHIFT_JIS, WINDOWS_874, WINDOWS_1250, WINDOWS_1251, WINDOWS_1252, WINDOWS_1253,
    WINDOWS_1254, WINDOWS_1255, WINDOWS_1256, WINDOWS_1257,
};

use super::*;

const RUSSIAN: &str = "Магазин открыт с девяти до шести, кроме воскресенья. Возврат товара возможен в течение четырнадцати дней при наличии чека.";
const UKRAINIAN: &str = "Крамниця відчинена з дев'ятої до шостої, крім неділі. Повернення товару можливе протягом чотирнадцяти днів за наявності чека.";
const CHINESE: &str =
    "商店每天上午九点到下午六点营业,星期日除外。凭收据可在十四天内退货。如有问题,请联系客服。";
const TAIWANESE: &str =
    "商店每天上午九點到下午六點營業,星期日除外。憑收據可在十四天內退貨。如有問題,請聯絡客服。";
const JAPANESE: &str = "店は日曜日を除き、午前九時から午後六時まで開いています。レシートがあれば十四日以内に返品できます。";
const KOREAN: &str = "가게는 일요일을 제외하고 오전 아홉 시부터 오후 여섯 시까지 문을 엽니다. 영수증이 있으면 십사 일 이내에 반품할 수 있습니다.";
const GREEK: &str = "Το κατάστημα είναι ανοιχτό από τις εννέα έως τις έξι, εκτός Κυριακής. Επιστροφές γίνονται εντός δεκατεσσάρων ημερών με απόδειξη.";
const POLISH: &str = "Sklep jest czynny od dziewiątej do osiemnastej, oprócz niedzieli. Zwrot towaru jest możliwy w ciągu czternastu dni, jeśli masz paragon. Żółw źle śpi.";
const GERMAN: &str = "Das Geschäft öffnet täglich um neun außer sonntags. Rückgabe ist binnen vierzehn Tagen möglich, für Käufe mit Beleg. Grüße aus Köln.";
const FRENCH: &str = "La boutique est fermée le dimanche. Les retours sont acceptés pendant quatorze jours, à condition d’avoir gardé le reçu. « Déjà vu ? »";
const TURKISH: &str = "Mağaza pazar günleri dışında dokuzdan altıya kadar açıktır. Fişiniz varsa on dört gün içinde iade edebilirsiniz. Şişli'de çay içilir.";
const HEBREW: &str =
    "החנות פתוחה מתשע עד שש, חוץ מיום ראשון. אפשר להחזיר מוצרים בתוך ארבעה עשר ימים עם קבלה.";
const ARABIC: &str = "المتجر مفتوح من التاسعة حتى السادسة ما عدا يوم الأحد. يمكن إرجاع البضاعة خلال أربعة عشر يوما مع الإيصال.";
const LITHUANIAN: &str = "Parduotuvė dirba nuo devynių iki šešių, išskyrus sekmadienį. Prekes galima grąžinti per keturiolika dienų, jei turite čekį. Žąsys.";
const THAI: &str = "ร้านเปิดตั้งแต่เก้าโมงถึงหกโมงเย็น ยกเว้นวันอาทิตย์ คืนสินค้าได้ภายในสิบสี่วันหากมีใบเสร็จ";

fn texts() -> Vec<(&'static Encoding, &'static str)> {
    vec![
        (WINDOWS_1251, RUSSIAN),
        (KOI8_R, RUSSIAN),
        (IBM866, RUSSIAN),
        (WINDOWS_1251, UKRAINIAN),
        (KOI8_U, UKRAINIAN),
        (GBK, CHINESE),
        (GB18030, CHINESE),
        (BIG5, TAIWANESE),
        (SHIFT_JIS, JAPANESE),
        (EUC_JP, JAPANESE),
        (ISO_2022_JP, JAPANESE),
        (EUC_KR, KOREAN),
        (WINDOWS_1253, GREEK),
        (ISO_8859_7, GREEK),
        (WINDOWS_1250, POLISH),
        (ISO_8859_2, POLISH),
        (WINDOWS_1252, GERMAN),
        (WINDOWS_1252, FRENCH),
        (WINDOWS_1254, TURKISH),
        (WINDOWS_1255, HEBREW),
        (WINDOWS_1256, ARABIC),
        (WINDOWS_1257, LITHUANIAN),
        (WINDOWS_874, THAI),
    ]
}

fn one_block(document: &Document) -> String {
    document.blocks.iter().map(|block| block.text.as_str()).collect::<Vec<_>>().join("\n")
}

#[test]
fn text_in_every_encoding_of_the_web_is_read() {
    for (encoding, text) in texts() {
        let (bytes, _, unmapped) = encoding.encode(text);
        assert!(!unmapped, "{}", encoding.name());
        let document = read(Format::Text, &bytes);
        assert_eq!(one_block(&document), text, "{}", encoding.name());
    }
}

/// The second half of a long file is in another script than its ASCII beginning.
#[test]
fn a_long_beginning_in_ascii_hides_no_encoding() {
    let beginning = "All of this is plain.\n\n".repeat(20_000);
    for (encoding, text) in [(WINDOWS_1251, RUSSIAN), (SHIFT_JIS, JAPANESE), (WINDOWS_1252, GERMAN)]
    {
        let (bytes, ..) = encoding.encode(text);
        let bytes = [beginning.as_bytes(), &bytes].concat();
        let document = read(Format::Text, &bytes);
        assert_eq!(document.blocks.last().unwrap().text, text, "{}", encoding.name());
    }
}

#[test]
fn every_format_of_text_is_decoded_alike() {
    let csv = format!("имя;заметка\nАнна;{RUSSIAN}\n");
    let (bytes, ..) = WINDOWS_1251.encode(&csv);
    let document = read(Format::Csv, &bytes);
    assert_eq!(document.blocks[0].text, format!("Анна | {RUSSIAN}"));
    let markdown = format!("# Часы\n\n{RUSSIAN}\n");
    let (bytes, ..) = KOI8_R.encode(&markdown);
    assert_eq!(shown(&read(Format::Markdown, &bytes)), [pair("Часы", RUSSIAN)]);
    let (bytes, ..) = SHIFT_JIS
        .encode("<html><title>店</title><p>店は日曜日を除き、午前九時から開いています。</p>");
    let document = read(Format::Html, &bytes);
    assert_eq!(document.title.as_deref(), Some("店"), "without a stated encoding");
}

#[test]
fn utf16_without_a_mark_in_every_script() {
    for (_, text) in texts() {
        let text = format!("{text}\n\n{text}");
        for bytes in [u16::to_le_bytes as fn(u16) -> [u8; 2], u16::to_be_bytes] {
            let bytes: Vec<u8> = text.encode_utf16().flat_map(bytes).collect();
            let document = read(Format::Text, &bytes);
            assert_eq!(document.blocks[0].text, text.lines().next().unwrap());
        }
    }
}

#[test]
fn a_single_word_in_utf16_is_told_by_its_letters() {
    for bytes in [u16::to_le_bytes as fn(u16) -> [u8; 2], u16::to_be_bytes] {
        let bytes: Vec<u8> = "Hello".encode_utf16().flat_map(bytes).collect();
        assert_eq!(one_block(&read(Format::Text, &bytes)), "Hello");
    }
}

/// Every character is a letter in one of the byte orders, of scripts that no text mixes.
#[test]
fn short_binary_data_is_no_word_of_many_scripts() {
    for bytes in [
        &b"ab\0\x01\x02cd\0"[..],
        b"ab\0\x01\x02\xff",
        b"\0\x01\0\x02\x61\x62\0\x05\x63\x64",
        b"a\0\x10\x05\x20\x4e\0\x06",
    ] {
        let error = parse(Format::Text, bytes, Limits::default()).expect_err(&format!("{bytes:?}"));
        assert!(error.message().contains("binary"), "{error}");
    }
    for text in ["Яндекс и Google: 100 км", "iPhoneを買った。一つ", "[ˌɪntəˈnæʃənəl] ofﬁce"]
    {
        let bytes: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
        assert_eq!(one_block(&read(Format::Text, &bytes)), text);
    }
}

#[test]
fn damaged_utf8_stays_utf8() {
    let mut bytes = GERMAN.repeat(3).into_bytes();
    let at = bytes.iter().position(|byte| !byte.is_ascii()).unwrap();
    bytes.remove(at);
    let text = one_block(&read(Format::Text, &bytes));
    assert!(text.contains("öffnet täglich") && text.contains('\u{fffd}'), "{text}");
}

/// A single sign of Windows-1252 in a text that is otherwise ASCII.
#[test]
fn quotation_marks_of_word_processors_are_read() {
    let text = "He said “no” – and that’s all… The price is 5 €.";
    let (bytes, ..) = WINDOWS_1252.encode(text);
    assert_eq!(one_block(&read(Format::Text, &bytes)), text);
}

/// What cannot be decoded is refused by name and not indexed as signs.
#[test]
fn an_unknown_encoding_is_refused_by_name() {
    // DOS (code page 850): Größe, Tür, Äpfel, für, schön.
    let dos =
        b"Gr\x94\xe1e der T\x81r, \x8epfel f\x81r die sch\x94ne K\x81che, Gr\x81\xe1e.".repeat(3);
    // Mac OS Roman: the same words.
    let mac =
        b"Gr\x9a\xa7e der T\x9fr, \x80pfel f\x9fr die sch\x9ane K\x9fche, Gr\x9f\xa7e.".repeat(3);
    // EBCDIC: "Hello world, this is text."
    let ebcdic = b"\xc8\x85\x93\x93\x96\x40\xa6\x96\x99\x93\x84\x6b\x40\xa3\x88\x89\xa2\x40\x89\xa2\x40\xa3\x85\xa7\xa3\x4b".repeat(3);
    let utf32: Vec<u8> = "\u{feff}Hello".chars().flat_map(|c| u32::from(c).to_le_bytes()).collect();
    for (name, bytes) in [("DOS", &dos), ("Mac", &mac), ("EBCDIC", &ebcdic), ("UTF-32", &utf32)] {
        let outcome = parse(Format::Text, bytes, Limits::default());
        let error = outcome.expect_err(&format!("{name} was read"));
        assert_eq!(error.code(), Some(UNREADABLE), "{name}");
        let words = error.to_string();
        assert!(words.contains("encoding") || words.contains("UTF-32"), "{name}: {words}");
        assert!(error.fix().is_some_and(|fix| fix.contains("UTF-8")), "{name}");
    }
}

proptest! {
    /// Random bytes are refused or read, and never end the program.
    #[test]
    fn no_bytes_break_the_decoder(bytes in proptest::collection::vec(any::<u8>(), 0..2_000)) {
        let _ = parse(Format::Text, &bytes, Limits::default());
    }

    /// Bytes with zeros in them are text in UTF-16 or refused.
    #[test]
    fn binary_data_is_no_text(mut bytes in proptest::collection::vec(any::<u8>(), 200..2_000)) {
        bytes.iter_mut().step_by(16).for_each(|byte| *byte = 0);
        prop_assert!(parse(Format::Text, &bytes, Limits::default()).is_err());
    }
}
