//! Messages before a question, and answers where no piece is shown.

use super::*;

/// A question finds the same pieces whatever was said before it; only one that points back is read
/// together with that.
#[tokio::test]
async fn the_question_before_decides_nothing_unless_it_is_pointed_back_to() {
    let (store, folder) = (store().await, tempfile::tempdir().unwrap());
    for (name, text) in [
        ("pump.txt", "Grease the bearing twice a year.\n\nReplace the impeller after 3000 hours."),
        ("boat.txt", "A damaged paddle costs forty euros. Canoes are lent for three hours."),
        ("club.txt", "Members meet in the old boathouse on the first Monday of each month."),
    ] {
        write(&folder.path().join(name), text, 1);
    }
    let (house, model) = house(&store, folder.path()).await;
    let shown = async |room: &'static str, talk: &[&str]| {
        for said in talk {
            house.say(&dm(room), said).await;
            house.quiet().await;
        }
        let prompt = models::prompt(model.requests().last().unwrap());
        prompt.rfind("your documents").map_or_else(String::new, |at| prompt[at - 40..].to_owned())
    };
    let nothing = "Nothing in your documents fits";
    let impeller = "When must the impeller be replaced?";
    assert!(shown("1", &[impeller]).await.contains("after 3000 hours"));
    let after = shown("2", &["What is the wifi password?", impeller]).await;
    assert!(after.contains("after 3000 hours") && !after.contains("[2]"), "{after}");
    let paddle = "What does a damaged paddle cost?";
    for question in ["What is the capital of Mongolia?", "How do I make risotto?"] {
        let after = shown("3", &[paddle, question]).await;
        assert!(after.contains(nothing), "{question}: {after}");
    }
    for (question, rooms) in [("How much is it?", ["4", "5"]), ("and for members?", ["7", "8"])] {
        let alone = shown(rooms[0], &[question]).await;
        assert!(!alone.contains("forty euros"), "{question}: {alone}");
        let after = shown(rooms[1], &[paddle, question]).await;
        assert!(after.contains("forty euros"), "{question}: {after}");
    }
    let after = shown("9", &["What is the wifi password?", "How much is it?"]).await;
    assert!(after.contains(nothing), "{after}");
    let both = shown("6", &[paddle, "and for members?"]).await;
    assert!(both.contains("first Monday"), "it fits the question by itself: {both}");
}

#[tokio::test]
async fn no_citation_stays_while_the_documents_are_not_read_yet() {
    let folder = tempfile::tempdir().unwrap();
    let model =
        || Arc::new(ScriptedModel::answering(|_| Ok(ScriptedModel::text("Thirty months [1][7]."))));
    let answer = async |sources: Vec<(&Path, bool)>, text: &str| {
        let store = store().await;
        let library = library("Eliza", &store, sources, None);
        let plugin = galatea_knowledge::plugin(library, Duration::ZERO);
        let mut plan = Plan::new(model()).plugin(plugin);
        plan.store = Some(store);
        let house = plan.build().await;
        house.say(&dm("7"), text).await;
        house.quiet().await;
        house.platform.texts("7")
    };
    let question = "How long is the warranty?";
    assert_eq!(answer(vec![], question).await, ["Thirty months [1][7]."], "no documents are named");
    // An empty folder: whether it was read makes no difference.
    assert_eq!(answer(vec![(folder.path(), false)], question).await, ["Thirty months."]);
}

#[tokio::test]
async fn a_message_that_asks_nothing_gets_no_citation_either() {
    let (store, folder) = (store().await, tempfile::tempdir().unwrap());
    write(&folder.path().join("a.txt"), "The warranty of the kettle is two years.", 1);
    let (house, _) = house(&store, folder.path()).await;
    house.say(&dm("7"), "thanks!").await;
    house.quiet().await;
    assert_eq!(house.platform.texts("7"), ["I don't know."]);
}
