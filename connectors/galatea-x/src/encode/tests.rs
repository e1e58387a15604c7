//! Tests of encoding whole messages.

use super::*;
use galatea_core::Media;
use proptest::prelude::*;

fn posts(content: Content, reply_to: Option<&str>) -> Vec<Post> {
    let outgoing = Outgoing::Message { content, reply_to: reply_to.map(|id| RemoteId(id.into())) };
    let post = |part| if let Part::Post(post) = part { post } else { panic!("a post") };
    encode_parts(&outgoing, Tier::SelfServe).unwrap().into_iter().map(post).collect()
}

fn picture(n: usize) -> Media {
    Media {
        url: format!("https://a.org/{n}.png"),
        content_type: MediaKind::Image,
        mime: Some("image/png".into()),
        description: format!("picture {n}"),
        ..Media::default()
    }
}

#[test]
fn every_part_knows_its_number_and_what_is_answered() {
    let posts = posts(Content::text("word ".repeat(200)), Some("1234"));
    assert_eq!(posts.len(), 4);
    assert!(
        posts
            .iter()
            .enumerate()
            .all(|(n, p)| p.nth as usize == n && p.answers.as_deref() == Some("1234"))
    );
    assert_eq!(
        self::posts(Content::text("x"), Some("post-17"))[0].answers,
        None,
        "a prompt is not a post"
    );
}

#[test]
fn notices_answer_people_and_are_no_posts() {
    let mut content = Content::text("Sorry, I cannot think right now.");
    content.extra.insert("notice".into(), true.into());
    assert_eq!(posts(content.clone(), Some("1234")).len(), 1);
    let request = Outgoing::Message { content, reply_to: Some(RemoteId("post-7-1".into())) };
    assert!(encode_parts(&request, Tier::SelfServe).unwrap().is_empty());
    let asked = Outgoing::Message {
        content: match request {
            Outgoing::Message { content, .. } => content,
            _ => unreachable!(),
        },
        reply_to: Some(RemoteId::new(1234)),
    };
    assert!(
        encode(&asked, Tier::SelfServe, false).unwrap().is_empty(),
        "nothing is announced in public, and for money, unless that is wanted"
    );
    assert_eq!(encode(&asked, Tier::SelfServe, true).unwrap().len(), 1);
    assert_eq!(
        encode(
            &Outgoing::Message { content: Content::text("hi"), reply_to: None },
            Tier::SelfServe,
            false
        )
        .unwrap()
        .len(),
        1
    );
}

#[test]
fn no_person_is_mentioned_before_the_recipient_is_known() {
    assert_eq!(
        posts(Content::text("ask @victim, says @ann_b"), Some("1234"))[0].text,
        "ask @ victim, says @ ann_b"
    );
    let fits = format!("{} @victim", "a".repeat(272));
    assert_eq!(
        posts(Content::text(fits), Some("1234")).len(),
        2,
        "the space counts before it is split"
    );
}

#[test]
fn pictures_come_in_fours_and_films_alone() {
    let film = Media {
        url: "data:video/mp4;base64,AAAA".into(),
        content_type: MediaKind::Video,
        ..Media::default()
    };
    let mut attachments: Vec<_> = (0..5).map(picture).collect();
    attachments.push(film);
    let posts = posts(Content { attachments, ..Content::text("look") }, None);
    assert_eq!(posts.iter().map(|p| p.media.len()).collect::<Vec<_>>(), [4, 1, 1]);
    assert_eq!(
        (posts[0].text.as_str(), posts[2].media[0].category),
        ("look", media::Category::Video)
    );
    assert_eq!(posts[0].media[1].alt.as_deref(), Some("picture 1"));
}

#[test]
fn what_x_cannot_carry_is_named() {
    let pdf = Media {
        url: "https://a.org/t.pdf".into(),
        title: "Tables".into(),
        mime: Some("application/pdf".into()),
        ..Media::default()
    };
    let note =
        Media { url: "data:text/plain,hi".into(), title: "note.txt".into(), ..Media::default() };
    assert_eq!(
        posts(Content { attachments: vec![pdf, note], ..Content::text("see") }, None)[0].text,
        "see\nTables: https://a.org/t.pdf\nnote.txt"
    );
    let odd =
        Media { url: "telegram:abc".into(), content_type: MediaKind::Image, ..Media::default() };
    let outgoing = Outgoing::Message {
        content: Content { attachments: vec![odd], ..Content::default() },
        reply_to: None,
    };
    assert_eq!(encode_parts(&outgoing, Tier::SelfServe).unwrap_err().code(), Some("GAL-X-MEDIA"));
}

#[test]
fn likes_need_enterprise_and_edits_are_impossible() {
    let like = Outgoing::React { id: RemoteId("7".into()), emoji: Some("❤".into()) };
    assert_eq!(encode_parts(&like, Tier::SelfServe).unwrap_err().kind(), ErrorKind::Unsupported);
    assert_eq!(
        encode_parts(&like, Tier::Enterprise).unwrap(),
        [Part::Like { id: "7".into(), on: true }]
    );
    let edit = Outgoing::Edit { id: RemoteId("7".into()), content: Content::text("x") };
    assert_eq!(encode_parts(&edit, Tier::Enterprise).unwrap_err().kind(), ErrorKind::Unsupported);
    assert!(encode_parts(&Outgoing::Typing, Tier::SelfServe).unwrap().is_empty());
    assert!(encode_parts(&Outgoing::Delete { id: RemoteId("x".into()) }, Tier::SelfServe).is_err());
    assert!(
        encode_parts(
            &Outgoing::Message { content: Content::text(" \n"), reply_to: None },
            Tier::SelfServe
        )
        .is_err()
    );
}

#[test]
fn six_thousand_characters_of_code_keep_every_line() {
    let lines: Vec<String> = (0..200).map(|n| format!("let line_{n} = \"*{n}*\";")).collect();
    let posts = posts(
        Content::text(format!("Look:\n\n```rust\n{}\n```\n\nThat is all.", lines.join("\n"))),
        None,
    );
    let shown: Vec<&str> =
        posts.iter().flat_map(|p| p.text.lines()).filter(|l| l.starts_with("let")).collect();
    assert_eq!(shown, lines);
}

#[test]
fn a_table_is_a_list_whose_rows_stay_readable_after_a_split() {
    let rows: String =
        (0..40).map(|n| format!("| harbour {n} | {} m | ivory and wax |\n", n * n)).collect();
    let posts = posts(
        Content::text(format!("Tides:\n\n| name | height | cargo |\n|---|--:|---|\n{rows}")),
        Some("1234"),
    );
    assert!(posts.len() > 3, "{} posts", posts.len());
    assert!(
        posts.iter().all(|p| weight(&p.text) <= MAX_WEIGHT
            && !p.text.contains('|')
            && !p.text.contains("---")),
        "{posts:?}"
    );
    let mut seen = 0;
    for post in &posts {
        let rows = post.text.split("\n\n").filter(|row| *row != "Tides:");
        for row in rows {
            assert_eq!(
                row,
                format!("name: harbour {seen}\nheight: {} m\ncargo: ivory and wax", seen * seen),
                "a row is whole in one post"
            );
            seen += 1;
        }
    }
    assert_eq!(seen, 40, "each row once, in order");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn a_thread_loses_nothing_and_every_post_fits(text in "([a-z0-9é漢🐱👩\u{200d}🏽.!? \n]|https://[a-z]{1,8}\\.org/[a-z]{0,9}){1,50}") {
        let whole: String = plain::plain(&text).chars().filter(|c| !c.is_whitespace()).collect();
        prop_assume!(!whole.is_empty());
        let posts = posts(Content::text(&text), None);
        prop_assert!(posts.iter().all(|p| weight(&p.text) <= MAX_WEIGHT));
        let shown: String = posts.iter().flat_map(|p| p.text.chars()).filter(|c| !c.is_whitespace()).collect();
        prop_assert_eq!(shown, whole);
    }

    #[test]
    fn a_table_loses_no_cell_and_every_post_fits(cells in prop::collection::vec("[a-z0-9é漢🐱 ]{0,120}|https://[a-z]{1,8}\\.org/[a-z]{0,9}|\\*\\*[a-z]{1,9}\\*\\*", 2..20)) {
        let rows: String = cells.chunks(2).map(|row| format!("| {} | {} |\n", row[0], row.get(1).map_or("", |c| c))).collect();
        let posts = posts(Content::text(format!("| first | second |\n|---|---|\n{rows}")), None);
        prop_assert!(posts.iter().all(|p| weight(&p.text) <= MAX_WEIGHT && !p.text.contains('|')));
        let bare = |text: &str| text.chars().filter(|c| !c.is_whitespace() && *c != '*').collect::<String>();
        let shown = bare(&posts.iter().map(|p| p.text.as_str()).collect::<String>());
        let mut from = 0;
        for cell in cells.iter().map(|cell| bare(cell)) {
            let at = shown[from..].find(&cell);
            prop_assert!(at.is_some(), "{cell:?} is missing in {shown:?}");
            from += at.unwrap_or(0) + cell.len();
        }
    }
}
