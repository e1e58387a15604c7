//! Names in many scripts: who is called, who is merely named, and what is another word.

use super::*;

fn of(text: &str) -> Called {
    named("May", text)
}

fn named(name: &str, text: &str) -> Called {
    let character =
        Character { name: name.into(), username: Some("may_bot".into()), ..Character::default() };
    called(text, &character, &[])
}

fn all(expected: Called, cases: &[(&str, &str)]) {
    for (name, text) in cases {
        assert_eq!(named(name, text), expected, "{name}: {text}");
    }
}

#[test]
fn who_is_addressed() {
    for text in [
        "May, what now?",
        "may what time is it",
        "what do you think, May?",
        "thanks may 🙂",
        "so, May, what now",
        "Hey May can you help",
        "Good evening.\nMay, are you there?",
        "@may_bot help",
        "is that right? May: tell them",
        "ask MAY_BOT!",
        "你好，May！你在吗",
        "May-chan, are you there?",
    ] {
        assert_eq!(of(text), Called::Addressed, "{text}");
    }
}

#[test]
fn who_is_merely_named() {
    for text in [
        "you may go now",
        "I saw May yesterday",
        "we leave in May or June",
        "what 'may' means here",
        "the may_bot account is new here",
    ] {
        assert_eq!(of(text), Called::Contained, "{text}");
    }
    for text in ["maybe later", "nothing at all", "dismay is strong", "may-flower", "may_flower"] {
        assert_eq!(of(text), Called::No, "{text}");
    }
}

#[test]
fn a_name_is_called_in_scripts_without_spaces() {
    all(
        Called::Addressed,
        &[
            ("诺娃", "诺娃你好"),
            ("诺娃", "你好诺娃"),
            ("诺娃", "诺娃3点叫我"),
            ("诺娃", "诺娃，今天天气怎么样"),
            ("诺娃", "今天下雨吗诺娃"),
            ("诺娃", "谢谢诺娃帮我"),
            ("小爱", "小爱同学放首歌"),
            ("Nova", "Nova你好"),
            ("Nova", "你好Nova"),
            ("ノヴァ", "ノヴァさん"),
            ("ノヴァ", "ノヴァさん、教えて"),
            ("ノヴァ", "ノヴァは元気？"),
            ("ノヴァ", "ねえノヴァ聞いて"),
            ("ノヴァ", "教えてノヴァ"),
            ("ノヴァ", "ノヴァーー！"),
            ("ﾉｳﾞｧ", "ノヴァ、いる？"),
            ("さくら", "さくらちゃん、おはよう"),
            ("さくら", "さくらおはよう"),
            ("花子", "花子ありがとう"),
            ("Nova", "Novaさん教えて"),
            ("노바", "노바야"),
            ("노바", "노바야 뭐해"),
            ("노바", "그래서 노바야 어떻게 생각해"),
            ("노바", "노바님, 안녕하세요"),
            ("노바", "안녕 노바 잘 지내"),
            ("노바", "안녕노바"),
            ("현진", "현진아 밥 먹었어"),
            ("Nova", "Nova야 도와줘"),
            ("โนวา", "โนวา"),
            ("โนวา", "โนวาช่วยหน่อย"),
            ("โนวา", "สวัสดีโนวา"),
            ("โนวา", "โนวาครับ ช่วยหน่อย"),
            ("ไทย", "ไทยสวัสดี"),
            ("ໂນວາ", "ສະບາຍດີໂນວາ"),
            ("ໂນວາ", "ໂນວາຊ່ວຍແດ່"),
            ("ណូវ៉ា", "ណូវ៉ាជួយខ្ញុំ"),
            ("ណូវ៉ា", "សួស្តីណូវ៉ា"),
            ("နိုဗာ", "နိုဗာကူညီပါ"),
            ("နိုဗာ", "မင်္ဂလာပါနိုဗာ"),
        ],
    );
}

#[test]
fn a_name_in_the_middle_of_such_a_text_is_contained() {
    all(
        Called::Contained,
        &[
            ("诺娃", "我昨天看见诺娃了"),
            ("诺娃", "我喜欢诺娃"),
            ("ノヴァ", "昨日ノヴァを見た"),
            ("ノヴァ", "これはノヴァ"),
            ("노바", "어제 노바를 봤어"),
            ("โนวา", "เมื่อวานเจอโนวาที่ตลาด"),
        ],
    );
}

#[test]
fn a_part_of_a_longer_word_is_no_name() {
    all(
        Called::No,
        &[
            ("ノヴァ", "ノヴァーリスの詩"),
            ("ノヴァ", "カサノヴァの話"),
            ("さくら", "さくらんぼが好き"),
            ("노바", "노바스크를 먹었어"),
            ("노바", "카사노바 이야기"),
            ("गीता", "संगीता ने कहा"),
            ("नोवा", "नोवां"),
            ("Нова", "новая идея"),
            ("Nova", "nova2 is out"),
        ],
    );
    // Vowels before and behind, and stacked consonants, belong to the syllable.
    all(Called::No, &[("นว", "นวา"), ("วา", "เวา"), ("ဗာ", "နိုဗ္ဗာ"), ("နိုဗ", "နိုဗန်း"), ("ວາ", "ເວາ")]);
}

#[test]
fn emoji_neither_hide_a_name_nor_call_it() {
    all(
        Called::Addressed,
        &[
            ("Nova", "🙂Nova help"),
            ("Nova", "Nova🙂help"),
            ("Nova", "Nova👋🏽"),
            ("Nova", "👩‍🚀 Nova, what now"),
            ("Nova", "help me ❤️Nova❤️"),
            ("Nova", ":wave: Nova what time is it"),
            ("Nova", "1️⃣ Nova what time is it"),
            ("Nova", "🇧🇪Nova hello"),
            ("✨Nova✨", "nova, hello"),
            ("Nova 🌟", "hey nova can you"),
        ],
    );
    all(
        Called::Contained,
        &[("Nova", "I saw 🙂 Nova 🙂 there yesterday"), ("Nova", "the ❤️Nova❤️ song is nice")],
    );
}

#[test]
fn a_name_of_two_words_is_called_by_the_first() {
    all(
        Called::Addressed,
        &[
            ("Ada Lovelace", "Ada, hello"),
            ("Ada Lovelace", "ada what is a loom"),
            ("Ada Lovelace", "Ada Lovelace what is a loom"),
            ("Ada Lovelace", "what do you think, Ada?"),
            ("Dr. Ada Lovelace", "hi Ada can you help"),
            ("Will Smith", "Will, are you there?"),
            ("Will Smith", "hey will can you help"),
            ("Will Smith", "what now, Will?"),
            ("Will Smith", "Will Smith are you there"),
            ("May Parker", "May?"),
            ("艾达·洛夫莱斯", "艾达你好"),
        ],
    );
    all(
        Called::Contained,
        &[
            ("Will Smith", "Will it rain?"),
            ("Will Smith", "I think it will"),
            ("Mark Twain", "mark this as done"),
            ("Grace Hopper", "there is a grace period"),
            ("Ada Lovelace", "I met Ada there"),
        ],
    );
    all(
        Called::No,
        &[
            ("The Oracle", "the weather is nice"),
            ("Ada Lovelace", "Lovelace was first"),
            ("My Helper", "my dog is here"),
            ("Ada Lovelace", "adage"),
        ],
    );
}

#[test]
fn case_and_accents_do_not_matter() {
    all(
        Called::Addressed,
        &[
            ("José", "jose, hola"),
            ("Jose", "JOSÉ, hola"),
            ("Zoë", "zoe hello"),
            ("Фёкла", "Фекла, привет"),
            ("Søren", "soren, hej"),
            ("Nova", "ＮＯＶＡ！"),
            ("İnci", "INCI merhaba"),
            ("أحمد", "يا احمد ساعدني"),
        ],
    );
}

#[test]
fn the_names_on_the_platform_count() {
    let character = Character { name: "Eliza".into(), ..Character::default() };
    let names = [String::from("Helga 🌸"), String::from("nova_ai")];
    for text in ["Helga, hello", "what now, helga?", "nova_ai hello", "Eliza hello"] {
        assert_eq!(called(text, &character, &names), Called::Addressed, "{text}");
    }
    assert_eq!(called("Helgard, hello", &character, &names), Called::No);
}

#[test]
fn one_letter_is_no_name() {
    assert_eq!(named("A", "a, b"), Called::No);
    assert_eq!(named("诺", "诺，你好"), Called::No);
}

#[test]
fn the_lists_are_folded() {
    for word in GREETINGS.iter().chain(UNSPACED_GREETINGS).chain(CLAUSE_ENDS) {
        assert_eq!(folded(word), *word);
    }
}
