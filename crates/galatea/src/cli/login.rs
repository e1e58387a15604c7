//! `galatea login`: prints a link that signs in to the control plane once.

use clap::Args;
use galatea_core::{ExposeSecret as _, SystemClock};
use std::{process::ExitCode, sync::Arc};

use crate::{cli::status::not_running, context::Context, report::failure::Result};
use galatea_host::{
    config::SignInOptions,
    ops::{Operator, Ops},
    storage::{data_dir::DataDir, database, lock},
};

/// Print a link that signs in to the running process, once
#[derive(Debug, Clone, Args)]
pub(crate) struct Login {}

impl Login {
    /// Works beside a running process.
    pub(crate) async fn run(&self, context: &Context) -> Result<ExitCode> {
        let settings = &context.configuration()?.settings;
        let data_dir = DataDir::locate(settings, &context.working_dir);
        let holder = lock::holder(data_dir.path())?;
        let address = holder.and_then(|holder| holder.health);
        let address = address.ok_or_else(|| not_running(&data_dir))?;
        let database = database::open_beside(settings, &data_dir).await?;
        let ops = Ops::new(database.store(), Arc::new(SystemClock), None);
        let made = ops.login_link(&Operator::command_line()).await;
        database.close().await;
        let made = made?;
        let secret = made.secret.expose_secret();
        let public = SignInOptions::read(settings)?.public;
        let place = public.map_or_else(|| format!("http://{address}"), |public| public.origin);
        context.output.data(format_args!("{place}/login#{secret}"));
        context.output.say("Open it within 15 minutes. It signs in once.");
        Ok(ExitCode::SUCCESS)
    }
}
