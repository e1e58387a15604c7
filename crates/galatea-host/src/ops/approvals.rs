//! Actions that wait for a person: an operator may decide in place of the one who asked.

use galatea_core::{Error, Result, TaskId, store::OperatorRole};
use galatea_runtime::approvals::{self, WaitingActions};
use serde_json::json;

use super::{Operator, Ops};

impl Ops {
    /// Actions that wait, of every agent, the one that ends first before the others.
    ///
    /// # Errors
    /// Failures of the store.
    pub async fn approvals(&self, by: &Operator) -> Result<Vec<WaitingActions>> {
        by.need_somewhere(OperatorRole::Operator)?;
        let mut all = Vec::new();
        for (agent, _) in self.store.agents().await? {
            if by.need_on(OperatorRole::Operator, agent).is_err() {
                continue;
            }
            all.extend(approvals::waiting(&*self.store, agent, self.clock.now()).await?);
        }
        all.sort_by_key(|waiting| (waiting.until, waiting.id));
        Ok(all)
    }

    /// Has actions carried out, or dropped, that wait for the person who asked for them. The turn that
    /// follows does it once, and says so in the Room.
    ///
    /// # Errors
    /// `NotFound` (`GAL-APPROVAL-UNKNOWN`) if nothing waits under this id any more, `Conflict`
    /// (`GAL-APPROVAL-ELSEWHERE`) if another process connects the Room's account.
    pub async fn decide_approval(&self, by: &Operator, id: TaskId, yes: bool) -> Result<()> {
        let all = self.approvals(by).await?;
        let waiting = all.into_iter().find(|waiting| waiting.id == id).ok_or_else(|| {
            Error::not_found("nothing waits under this id")
                .with_code("GAL-APPROVAL-UNKNOWN")
                .with_fix("read the list again: it was answered, or its time is over")
        })?;
        self.running()?.decide_waiting(&waiting, yes).await?;
        let tools: Vec<String> =
            waiting.actions.iter().map(|action| action.tool.to_string()).collect();
        let after = json!({ "agent": waiting.agent, "tools": tools, "person": waiting.person });
        let operation = if yes { "approval.approve" } else { "approval.refuse" };
        self.record(by, operation, id, None, Some(after)).await
    }
}
