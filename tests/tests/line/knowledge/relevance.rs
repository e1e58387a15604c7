//! The threshold that separates questions with an answer from others.

use super::*;

/// Questions that the project's own documents answer, and some that they do not, though half of them
/// are about the same things.
const ANSWERABLE: [&str; 24] = [
    "How many attempts does a part get before it is dead?",
    "What happens after a failed flush of the database?",
    "How long does read-back wait until the platform has settled?",
    "Which crate may contain SQL?",
    "What does galatea doctor do?",
    "How are duplicates recognised?",
    "When does Telegram drop the updates?",
    "Why are parts encoded before the outbox row is written?",
    "What does a lease do for an account?",
    "Which allocator is used on Linux?",
    "How is a rate limit of a platform handled?",
    "What is the outbox?",
    "How do I add a new connector?",
    "Which file holds the windows and prices of models?",
    "What is a kill point?",
    "How do I back up the database?",
    "Does Galatea send telemetry?",
    "How many partitions do the rooms of an agent have?",
    "Why is backoff unmaintained and what replaces it?",
    "How long may an answer be in characters?",
    "What does the circuit breaker do for a service?",
    "How do I report a vulnerability?",
    "Which licence does the project have?",
    "What is a World in elizaOS terms?",
];
const UNANSWERABLE: [&str; 24] = [
    "Who won the football world cup in 1974?",
    "How do I bake sourdough bread?",
    "What is the capital of Mongolia?",
    "When was the company founded and by whom?",
    "How much does a support contract cost per month?",
    "Can I connect WhatsApp and Signal?",
    "What is the chief executive's phone number?",
    "Which hotel is next to the conference?",
    "How tall is the Eiffel tower?",
    "Do you ship kettles to Norway?",
    "What is the refund policy for damaged goods?",
    "How many employees work in the Berlin office?",
    "Does it run on Windows 95 with floppy disks?",
    "Which blockchain tokens can I trade?",
    "What did the doctor say about my knee?",
    "How do I train a neural network for speech?",
    "When does the next train to Ghent leave?",
    "Is there a discount for students and pensioners?",
    "Which vitamins help against a cold?",
    "What was the weather like in Lisbon yesterday?",
    "How do I prune an apple tree in winter?",
    "Who wrote the novel about the white whale?",
    "Can the printer use recycled paper?",
    "What is the boiling point of mercury?",
];

/// The project's documents as plain text.
fn fill(folder: &Path) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    for name in [
        "README.md",
        "ARCHITECTURE.md",
        "CONTRIBUTING.md",
        "SECURITY.md",
        "docs/operating.md",
        "docs/coming-from-elizaos.md",
    ] {
        let text = fs::read_to_string(root.join(name)).unwrap();
        // In two parts: a long text is read by a child of the program, which is not here.
        let half = text.floor_char_boundary(text.len() / 2);
        let middle = half + text[half..].find("\n\n").unwrap();
        for (part, text) in [&text[..middle], &text[middle..]].into_iter().enumerate() {
            let name = format!("{}-{part}.txt", name.replace(['/', '.'], "-"));
            write(&folder.join(name), text, 1);
        }
    }
}

#[tokio::test]
async fn the_threshold_tells_questions_with_an_answer_from_others() {
    let (store, folder) = (store().await, tempfile::tempdir().unwrap());
    fill(folder.path());
    let library = library("Ada", &store, vec![(folder.path(), false)], None);
    let synced = library.sync(&|_| {}).await.unwrap();
    assert!(synced.problems.is_empty(), "{:?}", synced.problems);
    let plugin_store = Arc::clone(&store) as Arc<dyn galatea_core::store::PluginStore>;
    let found = async |question: &str| {
        let found = search(&*plugin_store, &[library.agent()], question, &[], 10).await.unwrap();
        let best = found.iter().map(|found| found.coverage).fold(0.0, f32::max);
        (best, !relevant(found, None).is_empty())
    };
    let (mut shown, mut refused) = (0, 0);
    for question in ANSWERABLE {
        let (coverage, fits) = found(question).await;
        println!("+ {coverage:.2} {question}");
        shown += usize::from(fits);
    }
    for question in UNANSWERABLE {
        let (coverage, fits) = found(question).await;
        println!("- {coverage:.2} {question}");
        refused += usize::from(!fits);
    }
    println!("{shown} of 24 answerable are shown a piece, {refused} of 24 others are refused");
    assert!(shown >= 23 && refused >= 23, "{shown} shown, {refused} refused");
}

/// In a conversation each question is answered or refused as it is by itself, though the one before it
/// is of the other sort.
#[tokio::test]
async fn the_question_before_changes_nothing_for_one_that_stands_on_its_own() {
    let (store, folder) = (store().await, tempfile::tempdir().unwrap());
    fill(folder.path());
    let (house, model) = house(&store, folder.path()).await;
    let fits = async |room: usize, question: &str| {
        house.say(&dm(room.to_string().leak()), question).await;
        house.quiet().await;
        let prompt = models::prompt(model.requests().last().unwrap());
        let [shown, nothing] = ["may answer the message", "Nothing in your documents"]
            .map(|part| prompt.contains(part));
        assert!(shown != nothing, "{question}: {prompt}");
        shown
    };
    let mut wrong = Vec::new();
    for (n, (answerable, other)) in ANSWERABLE.into_iter().zip(UNANSWERABLE).enumerate() {
        let alone = [fits(100 + n, answerable).await, fits(200 + n, other).await];
        let after = [fits(200 + n, answerable).await, fits(100 + n, other).await];
        if after != alone {
            wrong.push((answerable, other, alone, after));
        }
    }
    assert!(wrong.is_empty(), "{wrong:?}");
}

/// Documents in other scripts, with questions that each of them answers.
const OTHERS: [(&str, &[&str]); 12] = [
    (
        "所有电热水壶自购买之日起享有两年保修。顾客可以在收到商品后七天内退货。",
        &["电热水壶的保修期是多久？", "可以退货吗？"],
    ),
    (
        "图书馆周一至周五上午九点开门，晚上八点关门。逾期每天罚款五角。",
        &["图书馆几点关门？", "逾期罚款多少"],
    ),
    ("訪客網路在無線設定中開啟，密碼貼在機器背面。", &["訪客網路的密碼在哪裡？"]),
    (
        "電気ケトルの保証期間は購入日から二年間です。水垢による故障は対象外です。",
        &["電気ケトルの保証期間はどのくらいですか？", "保証期間は？"],
    ),
    ("社員は年に二十日の有給休暇を取得できます。", &["有給休暇は何日ありますか？"]),
    ("来週の金曜日に札幌へ出張します。", &["出張はどこですか？"]),
    ("도서관은 오전 아홉 시에 열고 오후 여섯 시에 닫습니다.", &["도서관은 언제 닫습니까?"]),
    (
        "Гарантия на электрический чайник составляет два года.",
        &["На какой срок гарантии у электрического чайника?"],
    ),
    (
        "La location d'un vélo électrique coûte quinze euros par jour.",
        &["velo electrique", "Combien coûte la location des vélos ?"],
    ),
    // As some programs write documents: accents apart, letters joined, full width.
    (
        "Der Schlu\u{308}ssel zur Tu\u{308}r im Bu\u{308}ro liegt im Ku\u{308}hlschrank.",
        &["Schlüssel Tür Büro"],
    ),
    (
        "The uni\u{fb01}ed speci\u{fb01}cation of 1992 is kept in the archive.",
        &["Where is the unified specification?"],
    ),
    ("Das Ersatzteil trägt die Nummer ＡＢＣ１２３.", &["ABC123"]),
];
const OTHERS_UNANSWERED: [&str; 10] = [
    "长城有多长？",
    "今天天气怎么样？",
    "洗衣机的保修期是多久？",
    "富士山の高さは何メートルですか？",
    "東京の人口はどのくらいですか？",
    "病院はどこですか？",
    "서울의 인구는 얼마입니까?",
    "Какая столица Перу?",
    "Qui a peint la Joconde ?",
    "Wie heißt die Hauptstadt von Peru?",
];

#[tokio::test]
async fn questions_in_other_scripts_are_answered_and_others_refused() {
    let (store, folder) = (store().await, tempfile::tempdir().unwrap());
    for (n, (text, _)) in OTHERS.iter().enumerate() {
        write(&folder.path().join(format!("{n}.txt")), text, 1);
    }
    let library = library("Ada", &store, vec![(folder.path(), false)], None);
    library.sync(&|_| {}).await.unwrap();
    let plugin_store = Arc::clone(&store) as Arc<dyn galatea_core::store::PluginStore>;
    let found = async |question: &str| {
        let found = search(&*plugin_store, &[library.agent()], question, &[], 10).await.unwrap();
        println!("{:.2} {question}", found.first().map_or(0.0, |found| found.coverage));
        relevant(found, None)
    };
    for (text, questions) in OTHERS {
        for question in questions {
            let found = found(question).await;
            assert_eq!(found.first().map(|found| &*found.piece.text), Some(text), "{question}");
        }
    }
    for question in OTHERS_UNANSWERED {
        let found = found(question).await;
        assert!(found.is_empty(), "{question}: {found:?}");
    }
}
