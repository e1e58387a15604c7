//! Documents by address, over HTTP: 127.0.0.2 is the public internet here, and 127.0.0.1 the internal
//! network, which no request may reach.

use galatea_knowledge::Synced;
use galatea_testkit::{
    clock::ManualClock,
    pages::{Page, Pages},
};
use std::net::Ipv4Addr;

use super::*;

const PUBLIC: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 2);
const HOUR: Duration = Duration::from_secs(3600);

struct Web {
    pages: Pages,
    clock: ManualClock,
    store: Arc<dyn Store>,
    library: Library,
}

fn text(text: &str) -> Page {
    Page::Text("text/plain", text.to_owned())
}

fn of_web(clock: &ManualClock, store: &Arc<dyn Store>, urls: &[String], hosts: &[&str]) -> Library {
    let source = |url: &String| Source {
        place: Place::Url(url.clone()),
        shared: false,
        origin: Origin::Character,
    };
    let options =
        HttpOptions { untrusted_exceptions: vec![PUBLIC.into()], ..HttpOptions::default() };
    let identity = character("Eliza").identity();
    Library::new(LibraryParts {
        cache: PluginCache::new(Arc::clone(store) as _, identity.id(), galatea_knowledge::NAME),
        identity,
        sources: urls.iter().map(source).collect(),
        store: Arc::clone(store) as _,
        usage: Arc::clone(store) as _,
        embedding: None,
        // Only plain text here, which needs no child.
        parser: Parser::new("/nonexistent".into()),
        http: HttpClient::new(options).unwrap(),
        hosts: hosts.iter().map(ToString::to_string).collect(),
        clock: clock.shared(),
    })
}

impl Web {
    /// A page, `/faq.txt`, that its agent may read.
    async fn set(page: Page) -> Self {
        let (pages, clock, store) = (Pages::on(PUBLIC).await, ManualClock::new(), store().await);
        pages.set("/faq.txt", page);
        let library = of_web(&clock, &store, &[pages.url("/faq.txt")], &["127.0.0.2"]);
        Self { pages, clock, store, library }
    }

    async fn sync(&self) -> Synced {
        self.library.sync(&|_| {}).await.unwrap()
    }

    /// The same once more after so long.
    async fn after(&self, time: Duration) -> Synced {
        self.clock.advance(time);
        self.sync().await
    }

    async fn found(&self, question: &str) -> Vec<String> {
        let store = Arc::clone(&self.store) as Arc<dyn galatea_core::store::PluginStore>;
        let found = search(&*store, &[self.library.agent()], question, &[], 5).await.unwrap();
        found.into_iter().map(|found| found.piece.text).collect()
    }

    /// The problem of the only document.
    async fn problem(&self) -> Option<String> {
        let [document] = &self.library.documents().await.unwrap()[..] else {
            panic!("one document")
        };
        document.record.problem.as_ref().map(|problem| problem.message.clone())
    }
}

#[tokio::test]
async fn an_address_is_read_once_a_day_and_what_changed_replaces_what_was_read() {
    let web = Web::set(text("The kiln costs ten euros.")).await;
    let first = web.library.sync_changes().await.unwrap().synced.unwrap();
    assert_eq!((first.read, first.pieces, first.problems.len()), (1, 1, 0), "{first:?}");
    let before = pieces(&*web.store, &web.library).await;
    assert_eq!(web.library.documents().await.unwrap()[0].record.size, 25);
    // The page changes, and is taken as it was read until the day is over.
    web.pages.set("/faq.txt", text("The kiln costs fifteen euros."));
    web.clock.advance(HOUR - Duration::from_millis(1));
    assert!(web.library.sync_changes().await.unwrap().synced.is_none(), "nothing is looked at");
    assert!(web.after(23 * HOUR).await.is_empty());
    assert_eq!(web.pages.requests(), ["/faq.txt"]);
    assert_eq!(web.found("kiln").await, ["The kiln costs ten euros."]);

    web.clock.advance(Duration::from_millis(1));
    let second = web.library.sync_changes().await.unwrap().synced.unwrap();
    assert_eq!((second.read, web.pages.requests().len()), (1, 2));
    assert_eq!(web.found("kiln").await, ["The kiln costs fifteen euros."]);
    let after = pieces(&*web.store, &web.library).await;
    assert_eq!((before.len(), after.len()), (1, 1), "the piece of the page before is deleted");

    // The same page a day later is not stored again, and counts as read.
    assert!(web.after(24 * HOUR).await.is_empty());
    assert!(web.after(23 * HOUR).await.is_empty());
    assert_eq!((web.pages.requests().len(), pieces(&*web.store, &web.library).await), (3, after));
}

#[tokio::test]
async fn what_was_read_of_an_address_that_is_gone_stays_and_the_problem_ends_with_its_cause() {
    let web = Web::set(text("The kiln costs ten euros.")).await;
    web.sync().await;
    let before = pieces(&*web.store, &web.library).await;
    for (status, reason) in [(410, "does not know this"), (503, "has a fault")] {
        web.pages.set("/faq.txt", Page::Status(status));
        let synced = web.after(24 * HOUR).await;
        assert_eq!((synced.read, synced.removed, synced.problems.len()), (0, 0, 1), "{synced:?}");
        assert!(web.problem().await.unwrap().contains(reason), "{:?}", web.problem().await);
        assert_eq!(pieces(&*web.store, &web.library).await, before);
        assert_eq!(web.found("kiln").await, ["The kiln costs ten euros."]);
    }
    let asked = web.pages.requests().len();
    web.pages.set("/faq.txt", text("The kiln costs ten euros."));
    assert_eq!(web.after(HOUR - Duration::from_millis(1)).await.problems.len(), 1);
    assert_eq!(web.pages.requests().len(), asked, "it is left alone for an hour");
    let synced = web.after(Duration::from_millis(1)).await;
    assert_eq!((synced.problems.len(), web.problem().await), (0, None), "{synced:?}");
    assert_eq!(pieces(&*web.store, &web.library).await, before, "the same pieces");

    // A document whose address was removed from the sources is deleted.
    let without = of_web(&web.clock, &web.store, &[], &["127.0.0.2"]);
    assert_eq!(without.sync(&|_| {}).await.unwrap().removed, 1);
    assert_eq!(web.found("kiln").await, [""; 0]);
    assert!(pieces(&*web.store, &web.library).await.is_empty());
}

#[tokio::test]
async fn no_request_reaches_a_host_that_is_not_listed_or_the_target_of_a_redirect() {
    let web = Web::set(text("The kiln costs ten euros.")).await;
    let inside = Pages::on(Ipv4Addr::LOCALHOST).await;
    inside.set("/secret.txt", text("canary-4711"));
    web.pages.set("/inside.txt", Page::Redirect(inside.url("/secret.txt")));
    web.pages.set("/here.txt", Page::Redirect("/faq.txt".to_owned()));
    let port = inside.url("").rsplit(':').next().unwrap().to_owned();
    let named = format!("http://localhost:{port}/secret.txt");
    for (url, hosts, reason) in [
        (web.pages.url("/faq.txt"), &["docs.example.org"][..], "not on the list"),
        (web.pages.url("/faq.txt"), &[], "not on the list"),
        (inside.url("/secret.txt"), &["127.0.0.2"], "not on the list"),
        // Listed, but inside.
        (inside.url("/secret.txt"), &["127.0.0.1"], "must not reach"),
        (named, &["localhost"], "must not reach"),
        // Listed, and public, but elsewhere.
        (web.pages.url("/inside.txt"), &["127.0.0.2", "127.0.0.1"], "redirects"),
        (web.pages.url("/here.txt"), &["127.0.0.2"], "redirects"),
    ] {
        let store = store().await;
        let library = of_web(&web.clock, &store, std::slice::from_ref(&url), hosts);
        let synced = library.sync(&|_| {}).await.unwrap();
        let [(key, problem)] = &synced.problems[..] else { panic!("{url}: {synced:?}") };
        assert_eq!((key, synced.pieces), (&url, 0));
        assert!(problem.to_string().contains(reason), "{url}: {problem}");
        assert!(pieces(&*store, &library).await.is_empty(), "{url}");
    }
    assert_eq!(inside.requests(), [""; 0], "the network inside was reached");
    assert_eq!(web.pages.requests(), ["/inside.txt", "/here.txt"], "only what was named is asked");
}

/// The fix of a refused host is a setting, so it holds at once and not an hour later.
#[tokio::test]
async fn a_host_is_read_as_soon_as_it_is_listed() {
    let web = Web::set(text("The kiln costs ten euros.")).await;
    let unlisted = of_web(&web.clock, &web.store, &[web.pages.url("/faq.txt")], &[]);
    let refused = unlisted.sync(&|_| {}).await.unwrap();
    let fix = refused.problems[0].1.fix.as_deref();
    assert_eq!(fix, Some("add it: KNOWLEDGE_HOSTS=127.0.0.2"), "{refused:?}");
    let synced = web.sync().await;
    assert_eq!((synced.read, synced.problems.len()), (1, 0), "{synced:?}");
}

#[tokio::test]
async fn a_page_that_is_too_large_is_not_read_to_its_end() {
    let web = Web::set(Page::Status(404)).await;
    let most = Parser::new("/nonexistent".into()).limits().bytes;
    for (n, length_is_stated) in [true, false].into_iter().enumerate() {
        let size = if length_is_stated { most + 1 } else { 4 * most };
        web.pages.set("/faq.txt", Page::Bytes(size, length_is_stated));
        let synced = web.after(24 * HOUR).await;
        assert_eq!((synced.pieces, synced.problems.len()), (0, 1), "{synced:?}");
        let problem = web.problem().await.unwrap();
        assert!(problem.contains("longer than allowed"), "{problem}");
        assert_eq!(web.pages.requests().len(), n + 1);
    }
}

#[tokio::test]
async fn an_answer_links_to_the_address_that_it_cites() {
    let web = Web::set(text("The warranty of the kettle is two years.")).await;
    web.sync().await;
    let model = Arc::new(ScriptedModel::saying("Two years [1]."));
    let library = of_web(&web.clock, &web.store, &[web.pages.url("/faq.txt")], &["127.0.0.2"]);
    let mut plan = Plan::new(model).plugin(galatea_knowledge::plugin(library, Duration::ZERO));
    plan.store = Some(Arc::clone(&web.store));
    let house = plan.build().await;
    house.say(&dm("7"), "How long is the warranty of the kettle?").await;
    house.quiet().await;
    let cited = format!("Two years [1].\n\nSources:\n[1] faq {}", web.pages.url("/faq.txt"));
    assert_eq!(house.platform.texts("7"), [cited]);
}
