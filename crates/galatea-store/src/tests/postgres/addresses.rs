//! Opening: each obstacle has its code, and no message holds the password.

use galatea_core::{Error, ErrorKind, Retry};
use galatea_testkit::{port::RefusedPort, postgres::Database};
use sqlx::{AssertSqlSafe, Connection, Executor, PgConnection};

use super::open_at;
use crate::postgres::{Place, old_server};

async fn refusal(url: &str, code: &str, password: &str) -> Error {
    let error = open_at(url).await.unwrap_err();
    assert_eq!(error.code(), Some(code), "{}", error.report());
    assert!(error.fix().is_some());
    for told in [error.report(), format!("{error:?}"), error.fix().unwrap_or_default().to_owned()] {
        assert!(!told.contains(password), "{told}");
    }
    error
}

#[tokio::test]
async fn what_is_in_the_way_is_reported_without_the_password() {
    let database = Database::fresh().await;
    let (url, password) = (database.url(), database.server().password().to_owned());
    let wrong =
        refusal(&url.replace(&password, "canary%40wrong"), "GAL-DB-PASSWORD", "canary").await;
    assert_eq!((wrong.kind(), wrong.retry()), (ErrorKind::Unauthorized, Retry::Never));
    let missing = refusal(&url.replace("/test_", "/no_such_"), "GAL-DB-MISSING", &password).await;
    assert_eq!(missing.kind(), ErrorKind::NotFound);
    let nowhere = RefusedPort::take();
    let free = nowhere.number().to_string();
    let unreachable = refusal(
        &url.replace(&database.server().port().to_string(), &free),
        "GAL-DB-HOST",
        &password,
    )
    .await;
    assert_eq!((unreachable.kind(), unreachable.retry()), (ErrorKind::Unavailable, Retry::Soon));
    assert!(unreachable.to_string().contains(&free), "{unreachable}");
    for address in [
        url.replace("sslmode=disable", "sslmode=canary"),
        format!("postgres://u:{password}@host:canary/d"),
        password.clone(),
        format!("postgres://u:/{password}@127.0.0.1:1/d"),
        format!("postgres://u:12/{password}@127.0.0.1:1/d"),
        format!("postgres://u/{password}@127.0.0.1:1/d"),
        format!("postgres://u:12?{password}@127.0.0.1:1/d"),
        format!("postgres://u:12?a={password}@127.0.0.1:1/d"),
        format!("postgres://u:12#{password}@127.0.0.1:1/d"),
        format!("postgres://u:12/4?{password}#4@127.0.0.1:1/d"),
    ] {
        assert_eq!(refusal(&address, "GAL-DB-URL", &password).await.kind(), ErrorKind::Invalid);
    }
    let plain =
        refusal(&url.replace("sslmode=disable", "sslmode=require"), "GAL-DB-TLS", &password).await;
    assert_eq!(plain.kind(), ErrorKind::Unavailable);
}

#[tokio::test]
async fn a_user_without_rights_is_reported() {
    let database = Database::fresh().await;
    let mut admin = PgConnection::connect(&database.url()).await.unwrap();
    let role = format!("role_{}", uuid::Uuid::new_v4().simple());
    admin
        .execute(AssertSqlSafe(format!("CREATE ROLE {role} LOGIN PASSWORD 'canary'")))
        .await
        .unwrap();
    let url = database
        .url()
        .replace("galatea:", &format!("{role}:"))
        .replace(database.server().password(), "canary");
    assert_eq!(refusal(&url, "GAL-DB-RIGHTS", "canary").await.kind(), ErrorKind::Forbidden);
    let name = database.url().rsplit('/').next().unwrap().split('?').next().unwrap().to_owned();
    admin
        .execute(AssertSqlSafe(format!("GRANT CREATE ON DATABASE {name} TO {role}")))
        .await
        .unwrap();
    // The role stays: it ends with the server, and its session may take a moment longer than the
    // store.
    open_at(&url).await.unwrap().close().await;
}

#[tokio::test]
async fn newer_and_edited_tables_are_refused_and_old_servers_too() {
    let database = Database::fresh().await;
    for _ in 0..3 {
        super::open(&database).await.close().await;
    }
    let mut other = PgConnection::connect(&database.url()).await.unwrap();
    let insert = "INSERT INTO galatea._sqlx_migrations (version, description, success, checksum, execution_time) VALUES (9999, 'later', true, '\\x00', 0)";
    other.execute(insert).await.unwrap();
    assert_eq!(
        refusal(&database.url(), "GAL-DB-NEWER", database.server().password()).await.kind(),
        ErrorKind::Unsupported
    );
    other
        .execute("DELETE FROM galatea._sqlx_migrations WHERE version = 9999; UPDATE galatea._sqlx_migrations SET checksum = '\\x00' WHERE version = 1")
        .await
        .unwrap();
    refusal(&database.url(), "GAL-DB-CORRUPT", database.server().password()).await;
    let earlier = "UPDATE galatea._sqlx_migrations SET description = 'init'";
    other.execute(earlier).await.unwrap();
    refusal(&database.url(), "GAL-DB-EARLIER", database.server().password()).await;
    let place = Place::parse(&database.url().into(), &crate::PostgresOptions::default()).unwrap();
    let old = old_server(&place.show(), 130_014, 140_000);
    assert_eq!((old.code(), old.fix()), (Some("GAL-DB-OLD"), Some("Use PostgreSQL 14 or newer.")));
    assert!(
        old.to_string().contains("found=13.14")
            && !old.to_string().contains(database.server().password()),
        "{old}"
    );
}
