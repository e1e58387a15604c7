//! Actions with side effects, in turns that a crash interrupts before their commit.

use async_trait::async_trait;
use galatea_core::{
    Action, ActionDocs, ActionResult, Plugin, Result, Turn,
    model::{Finish, TextAnswer, TextRequest, ToolCall},
    rights::Scope,
    store::InboxState,
};
use galatea_store::{Database, SqliteOptions};
use galatea_testkit::models::ScriptedModel;
use schemars::JsonSchema;
use serde::Deserialize;
use std::{
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU32, Ordering},
    },
};
use tokio::{runtime::Runtime, sync::watch};

use crate::{
    house::{House, Plan, dm},
    models,
    platform::{PATIENCE, Platform},
};

/// State that outlives the program: payments, and where the program hangs.
#[derive(Default)]
struct Bank {
    paid: AtomicU32,
    hangs_in_pay: AtomicBool,
    hangs_in_hold: AtomicBool,
    reached: watch::Sender<u32>,
}

impl Bank {
    async fn hang(&self) {
        self.reached.send_modify(|n| *n += 1);
        std::future::pending().await
    }

    async fn reached(&self) {
        let mut reached = self.reached.subscribe();
        let hanging = tokio::time::timeout(PATIENCE, reached.wait_for(|n| *n > 0)).await;
        assert!(hanging.is_ok(), "it never came to the action");
    }
}

/// Arguments of both.
#[derive(Deserialize, JsonSchema)]
struct Amount {
    /// The amount.
    amount: u32,
}

struct Pay(Arc<Bank>);

#[async_trait]
impl Action for Pay {
    const NAME: &'static str = "PAY";
    const SIDE_EFFECT: bool = true;
    const SCOPE: Scope = Scope::Conversation;
    type Params = Amount;

    fn docs(&self) -> ActionDocs {
        ActionDocs::of::<Self>("pays", &[])
    }
    async fn validate(&self, _: &Turn<'_>) -> Result<bool> {
        Ok(true)
    }
    async fn run(&self, _: &Turn<'_>, params: Amount, _: &[ActionResult]) -> Result<ActionResult> {
        let receipt = self.0.paid.fetch_add(1, Ordering::SeqCst) + 1;
        if self.0.hangs_in_pay.load(Ordering::SeqCst) {
            self.0.hang().await;
        }
        Ok(ActionResult::ok(format!("paid {}, receipt {receipt}", params.amount)))
    }
}

struct Hold(Arc<Bank>);

#[async_trait]
impl Action for Hold {
    const NAME: &'static str = "HOLD";
    const SCOPE: Scope = Scope::Conversation;
    type Params = Amount;

    fn docs(&self) -> ActionDocs {
        ActionDocs::of::<Self>("holds", &[])
    }
    async fn validate(&self, _: &Turn<'_>) -> Result<bool> {
        Ok(true)
    }
    async fn run(&self, _: &Turn<'_>, _: Amount, _: &[ActionResult]) -> Result<ActionResult> {
        if self.0.hangs_in_hold.load(Ordering::SeqCst) {
            self.0.hang().await;
        }
        Ok(ActionResult::ok("held"))
    }
}

/// A model that calls PAY with these amounts and then HOLD, and afterwards reports the results.
fn model(amounts: &'static [u32]) -> Arc<ScriptedModel> {
    let call = |name: &str, n: usize, amount: u32| ToolCall {
        id: format!("{name}{n}"),
        name: name.into(),
        arguments: format!("{{\"amount\":{amount}}}"),
    };
    Arc::new(ScriptedModel::answering(move |request: &TextRequest| {
        let prompt = models::prompt(request);
        if let Some((_, done)) = prompt.split_once("You have just done this:\n") {
            let listed: Vec<&str> =
                done.lines().take_while(|line| line.starts_with("- ")).collect();
            return Ok(ScriptedModel::text(listed.join("\n")));
        }
        let pays = amounts.iter().enumerate().map(|(n, amount)| call("PAY", n, *amount));
        Ok(TextAnswer {
            tool_calls: pays.chain([call("HOLD", 0, 0)]).collect(),
            finish: Finish::Tools,
            ..TextAnswer::default()
        })
    }))
}

async fn house(
    file: &Path,
    bank: &Arc<Bank>,
    platform: &Arc<Platform>,
    amounts: &'static [u32],
) -> House {
    let store = Database::sqlite(file, SqliteOptions::default()).await.unwrap();
    let plugin = Plugin::new("bank", "1.0.0", "pays")
        .action(Pay(Arc::clone(bank)))
        .action(Hold(Arc::clone(bank)));
    Plan::new(model(amounts)).plugin(plugin).store(&store).on(Arc::clone(platform)).build().await
}

/// Runs the program until it hangs, ends it like a crash, and runs it again without hanging.
/// Returns the answer and the number of payments.
fn crashed(bank: &Arc<Bank>, first: &'static [u32], second: &'static [u32]) -> (String, u32) {
    let folder = tempfile::tempdir().unwrap();
    let (file, platform) = (folder.path().join("a.db"), Platform::new("1000"));
    let run = Runtime::new().unwrap();
    let id = run.block_on(async {
        let house = house(&file, bank, &platform, first).await;
        let id = house.say(&dm("7"), "pay").await;
        bank.reached().await;
        id
    });
    run.shutdown_background();
    platform.unplug();
    bank.hangs_in_pay.store(false, Ordering::SeqCst);
    bank.hangs_in_hold.store(false, Ordering::SeqCst);
    Runtime::new().unwrap().block_on(async {
        let house = house(&file, bank, &platform, second).await;
        let said = platform.until_shown("7", 1).await;
        house.quiet().await;
        assert_eq!(house.explain(id).await.state, InboxState::Done);
        (said.join("\n"), bank.paid.load(Ordering::SeqCst))
    })
}

#[test]
fn what_was_done_before_the_crash_is_not_done_again_and_its_result_is_reported() {
    let bank = Arc::new(Bank { hangs_in_hold: true.into(), ..Bank::default() });
    let (said, paid) = crashed(&bank, &[5], &[5]);
    assert_eq!((said.as_str(), paid), ("- PAY worked: paid 5, receipt 1\n- HOLD worked: held", 1));
}

#[test]
fn what_may_have_been_done_is_not_done_again_and_the_unknown_outcome_is_reported() {
    let bank = Arc::new(Bank { hangs_in_pay: true.into(), ..Bank::default() });
    let (said, paid) = crashed(&bank, &[5], &[5]);
    assert_eq!(paid, 1);
    assert!(
        said.starts_with(
            "- PAY failed: PAY was begun before and may have been done; it is not done twice"
        ),
        "{said}"
    );
}

#[test]
fn what_is_asked_for_besides_is_done() {
    let bank = Arc::new(Bank { hangs_in_hold: true.into(), ..Bank::default() });
    let (said, paid) = crashed(&bank, &[5], &[7, 5]);
    assert_eq!(
        (said.as_str(), paid),
        (
            "- PAY worked: paid 7, receipt 2\n- PAY worked: paid 5, receipt 1\n- HOLD worked: held",
            2
        )
    );
}
