//! Pages of memories, by time; what busy Rooms said last comes from memory.

use galatea_core::{Memory, Result, store::MemoryQuery};
use std::sync::Arc;

use super::{Sqlite, filter::Filter, page, recent::CacheLookup};
use crate::dialect::{Statement, Value};

impl Sqlite {
    /// A page as one text.
    async fn text<'a>(
        &self,
        query: &'a MemoryQuery,
        statement: impl FnOnce(&Filter<'a>) -> String,
        further: Vec<Value>,
    ) -> Result<String> {
        let filter = Filter::new(query);
        let mut values = filter.values();
        values.push(query.limit.into());
        values.extend(further);
        let statement = Statement::for_sqlite(statement(&filter), values);
        let page = self.fetch_one::<(Option<String>,)>(statement).await?;
        Ok(page.and_then(|(page,)| page).unwrap_or_default())
    }

    /// A page from the tables, whatever is kept of it in memory.
    pub(crate) async fn page(&self, query: &MemoryQuery) -> Result<Vec<Memory>> {
        page::read(&self.text(query, Filter::page, Vec::new()).await?)
    }

    pub(crate) async fn shared_memories(&self, query: &MemoryQuery) -> Result<Vec<Arc<Memory>>> {
        match self.known.recent.lookup(query) {
            CacheLookup::Hit(page) => Ok(page),
            CacheLookup::Miss(reading) => {
                let read = self.page(&reading.query()).await?;
                Ok(self.known.recent.fill(&reading, query, read))
            }
            CacheLookup::Uncacheable => {
                Ok(self.page(query).await?.into_iter().map(Arc::new).collect())
            }
        }
    }

    pub(crate) async fn count_memories(&self, query: &MemoryQuery) -> Result<u64> {
        let filter = Filter::new(query);
        let statement = Statement::for_sqlite(filter.count(), filter.values());
        let row = self.fetch_one::<(i64,)>(statement).await?;
        Ok(row.map_or(0, |(n,)| crate::convert::count(n)))
    }

    pub(crate) async fn without_embedding(
        &self,
        query: &MemoryQuery,
        model: &str,
        width: Option<i64>,
    ) -> Result<Vec<Memory>> {
        let further = vec![model.into(), width.into()];
        page::read(&self.text(query, Filter::without_embedding, further).await?)
    }
}
