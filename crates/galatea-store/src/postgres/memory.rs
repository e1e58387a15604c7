//! Pages of memories, by time.

use galatea_core::{Memory, Result, store::MemoryQuery};

use super::{Postgres, filter::Filter};
use crate::{convert, dialect::Statement, rows::StoredMemory};

impl Postgres {
    pub(crate) async fn memories(&self, query: &MemoryQuery) -> Result<Vec<Memory>> {
        let filter = Filter::new(query);
        let mut values = filter.values();
        values.push(query.limit.into());
        let rows: Vec<StoredMemory> =
            self.all(Statement::for_postgres(filter.page(), values)).await?;
        rows.into_iter().map(StoredMemory::decode).collect()
    }

    pub(crate) async fn count_memories(&self, query: &MemoryQuery) -> Result<u64> {
        let filter = Filter::new(query);
        let statement = Statement::for_postgres(filter.count(), filter.values());
        let row = self.fetch_one::<(i64,)>(statement).await?;
        Ok(row.map_or(0, |(n,)| convert::count(n)))
    }

    pub(crate) async fn without_embedding(
        &self,
        query: &MemoryQuery,
        model: &str,
        width: Option<i64>,
    ) -> Result<Vec<Memory>> {
        let filter = Filter::new(query);
        let mut values = filter.values();
        values.extend([query.limit.into(), model.into(), width.into()]);
        let statement = Statement::for_postgres(filter.without_embedding(), values);
        let rows: Vec<StoredMemory> = self.all(statement).await?;
        rows.into_iter().map(StoredMemory::decode).collect()
    }
}
