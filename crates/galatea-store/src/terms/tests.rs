//! What a question finds in a text.

use super::{split::LONGEST, *};

/// Terms as the question has them: one of a group is enough.
fn finds(question: &str, text: &str) -> Vec<String> {
    let terms: HashSet<String> = of_text(text).split(' ').map(str::to_owned).collect();
    of_question(question)
        .into_iter()
        .filter(|asked| {
            let begins = |term: &String| asked.prefix && term.starts_with(&asked.exact);
            terms.contains(&asked.exact)
                || asked.stems.iter().any(|stem| terms.contains(stem))
                || terms.iter().any(begins)
        })
        .map(|asked| asked.exact)
        .collect()
}

#[test]
fn words_are_found_in_other_forms() {
    for (question, text, found) in [
        ("Who carried the boxes?", "I'm carrying a box upstairs", vec!["carried", "boxes"]),
        ("Welche Katzen hat er?", "Seine Katze schläft auf dem Sofa", vec!["katzen"]),
        ("Wann sind die Prüfungen?", "die Prüfung ist am Montag", vec!["prufungen"]),
        ("Quels livres a-t-elle achetés ?", "elle achète un livre", vec!["livres", "achetes"]),
        (
            "¿Dónde trabajan las hermanas?",
            "mi hermana trabaja en Lima",
            vec!["trabajan", "hermanas"],
        ),
        ("Где работает сестра?", "моя сестра работала в школе", vec!["работает", "сестра"]),
        ("the party on the 5th", "party: May 05", vec!["party", "5th"]),
        ("Strasse", "Wir treffen uns in der Hauptstraße, Straße 5", vec!["strasse"]),
        ("naive cafe", "A naïve CAFÉ owner", vec!["naive", "cafe"]),
    ] {
        assert_eq!(finds(question, text), found, "{question:?} in {text:?}");
    }
}

#[test]
fn scripts_without_spaces_are_found_by_pairs() {
    assert_eq!(finds("东京天气", "我明天去东京出差"), ["东京"]);
    assert_eq!(finds("猫", "我家的猫很可爱"), ["猫"], "one character within a run");
    assert_eq!(finds("猫", "我喜欢猫"), ["猫"], "at its end");
    assert_eq!(finds("ラーメン", "昨日ラーメンを食べた"), ["ラー", "ーメ", "メン"]);
    assert_eq!(finds("커피", "커피를 마셔요"), ["커피"]);
    assert_eq!(finds("iPhone手机", "新手机是iphone"), ["iphone", "手机"]);
}

#[test]
fn a_question_asks_for_what_it_is_about() {
    let exact = |text: &str| -> Vec<String> {
        of_question(text).into_iter().map(|asked| asked.exact).collect()
    };
    assert_eq!(exact("What did Ada say about the garden?"), ["ada", "garden"]);
    assert_eq!(exact("Was hat Ada über den Garten gesagt?"), ["ada", "garten"]);
    assert_eq!(exact("to be or not to be"), ["to", "be", "or", "not"], "nothing else is asked");
    assert_eq!(exact(" ?! "), [""; 0]);
    assert_eq!(exact("garden Garden GARDEN"), ["garden"]);
    assert!(exact(&"w ".repeat(10)).len() == 1);
    let many: String = (0..500).map(|n| format!("word{n} ")).collect();
    assert_eq!(exact(&many).len(), ASKED);
}

#[test]
fn terms_are_words_for_every_tokenizer() {
    for text in
        ["a_b-c", "x\u{0}y", "'; DROP TABLE", "\u{FFFD}", "नमस्ते दुनिया", "İstanbul", "ﷺ", "🎉 party"]
    {
        let terms = of_text(text);
        assert!(
            terms.split(' ').all(|term| terms.is_empty()
                || (!term.is_empty()
                    && !term.contains(|c: char| c.is_ascii_punctuation() || c == '\0'))),
            "{text:?}: {terms:?}"
        );
    }
    assert_eq!(of_text(""), "");
}

#[test]
fn a_long_text_is_searched_in_its_first_part() {
    let terms = of_text(&"ﷺ a".repeat(20_000));
    assert!(terms.len() < 16 * SEARCHED, "{}", terms.len());
    assert!(of_text(&"x".repeat(500_000)).len() <= SEARCHED + LONGEST + 1);
}
