//! A person on two platforms, whose Rooms are answered by different processes.

use galatea_testkit::{
    discord::{self, Channel},
    telegram::{self, Chat},
};

use super::crowd::{Crowd, spread};

/// A person's direct chats on both platforms.
struct Person<'a> {
    crowd: &'a Crowd,
    here: (telegram::User, Chat),
    there: (discord::User, Channel),
}

impl<'a> Person<'a> {
    fn new(crowd: &'a Crowd, n: usize) -> Self {
        let here = crowd.stage.telegram.user(&format!("Ann{n}"), &format!("ann_{n}"));
        let there = crowd.discord.user(&format!("Dan{n}"), &format!("dan_{n}"));
        let (chat, channel) = (here.direct(), there.direct());
        Self { crowd, here: (here, chat), there: (there, channel) }
    }

    /// The texts on Telegram after these many messages.
    async fn shown(&self, before: usize) -> String {
        self.crowd.stage.telegram.wait_shown(self.here.1.id, before + 1).await;
        self.crowd.stage.texts(&self.here.1)[before..].join("\n")
    }

    async fn telegram(&self, text: &str) -> String {
        let before = self.crowd.stage.texts(&self.here.1).len();
        self.here.0.says(&self.here.1, text).send();
        self.shown(before).await
    }

    /// Uses a command on Discord: its answer, which only this person sees.
    async fn discord(&self, command: &str, option: Option<&str>) -> String {
        let (discord, channel) = (&self.crowd.discord, &self.there.1);
        let before = discord.whispered(channel.id).len();
        self.there.0.uses(channel, command, option);
        let whispered = discord
            .wait_for("the answer on Discord", |d| {
                Some(d.whispered(channel.id)).filter(|texts| texts.len() > before)
            })
            .await;
        whispered[before..].join("\n")
    }

    /// From `/link` to the agreement of both sides.
    async fn link(&self) {
        let said = self.telegram("/link").await;
        let (_, rest) = said.split_once("Your code is ").unwrap_or_else(|| panic!("{said}"));
        let code = rest.split_once('.').unwrap().0;
        let said = self.discord("link", Some(code)).await;
        assert!(said.starts_with("This is a code of Ann"), "{said}");
        let before = self.crowd.stage.texts(&self.here.1).len();
        let said = self.discord("link", Some("yes")).await;
        assert!(said.starts_with("I have asked Ann"), "{said}");
        let question = self.shown(before).await;
        assert!(question.starts_with("Dan"), "{question}");
        let said = self.telegram("/link yes").await;
        assert!(said.contains("(discord) are one person to me"), "{said}");
    }
}

/// Three people, so that one at least is likely to have a Room with each worker.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_link_holds_and_ends_in_all_processes() {
    let crowd = Crowd::of(1).await;
    let _ingress = crowd.node("ingress").await;
    let _workers = [crowd.node("worker").await, crowd.node("worker").await];
    crowd.discord.wait_connected(1).await;
    crowd
        .wait_status("the Rooms to be divided", |status| {
            let mut parts = spread(status);
            parts.sort_unstable();
            parts == [0, 32, 32]
        })
        .await;
    for person in (0..3).map(|n| Person::new(&crowd, n)) {
        person.link().await;
        // The last message of the link was told on Discord, too.
        crowd
            .discord
            .wait_for("the confirmation", |d| {
                let last = d.shown(person.there.1.id).pop()?;
                last.text.contains("has confirmed").then_some(())
            })
            .await;
        let said = person.discord("link", None).await;
        assert!(said.starts_with("You are linked with Ann"), "{said}");
        let said = person.telegram("/unlink").await;
        assert!(said.contains("no longer Dan"), "{said}");
        let said = person.discord("unlink", None).await;
        assert!(said.starts_with("You are not linked"), "{said}");
    }
}
