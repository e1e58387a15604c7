//! The routes: one file per resource.

mod access;
mod agents;
mod characters;
mod cluster;
mod console;
mod events;
mod health;
mod house;
mod knowledge;
mod logs;
mod mcp;
mod messages;
mod metrics;
mod pages;
mod places;
mod plugins;
mod queues;
mod settings;
mod sign_in;
mod system;
mod traces;
mod webhooks;
mod work;

use axum::{
    Router,
    extract::{DefaultBodyLimit, Request, State},
    http::StatusCode,
    middleware::{Next, from_fn, from_fn_with_state},
    response::Response,
};
use std::sync::Arc;
use utoipa::{
    OpenApi,
    openapi::{
        Components, OpenApi as Document,
        security::{
            ApiKey, ApiKeyValue, HttpAuthScheme, HttpBuilder, SecurityRequirement, SecurityScheme,
        },
    },
};
use utoipa_axum::router::OpenApiRouter;

use crate::{
    app::App,
    auth, eliza, embed,
    error::Problem,
    guard::guard,
    idempotency::{once, tagged},
    socket, v1,
};

/// Longest body in bytes. Uploads have routes of their own.
const BODY: usize = 1 << 20;

#[derive(OpenApi)]
#[openapi(
    info(
        title = "Galatea",
        description = "The control plane of Galatea. Times are Unix milliseconds. Lists are paged by `limit` and the cursor `next`. A request with an `Idempotency-Key` is carried out once."
    ),
    components(schemas(Problem))
)]
struct Head;

fn api() -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::with_openapi(Head::openapi())
        .merge(house::routes())
        .merge(agents::routes())
        .merge(places::routes())
        .merge(messages::routes())
        .merge(queues::routes())
        .merge(traces::routes())
        .merge(logs::routes())
        .merge(system::routes())
        .merge(events::routes())
        .merge(work::routes())
        .merge(plugins::routes())
        .merge(access::routes())
        .merge(knowledge::routes())
        .merge(mcp::routes())
        .merge(cluster::routes())
        .merge(settings::routes())
        .merge(sign_in::routes())
        .merge(webhooks::routes())
        .merge(characters::routes())
}

/// Counts every request with its answer, refused ones too.
async fn count_request(State(app): State<Arc<App>>, request: Request, next: Next) -> Response {
    let method = request.method().clone();
    let response = next.run(request).await;
    app.metrics.count_request(method.as_str(), response.status().as_u16());
    response
}

/// The description of the API.
pub fn openapi() -> Document {
    described(api().to_openapi())
}

/// Adds the two ways to sign in, of which each operation takes either.
fn described(mut document: Document) -> Document {
    let components = document.components.get_or_insert_with(Components::default);
    let cookie = ApiKey::Cookie(ApiKeyValue::new("galatea_session"));
    components.add_security_scheme("session", SecurityScheme::ApiKey(cookie));
    let bearer = HttpBuilder::new().scheme(HttpAuthScheme::Bearer).build();
    components.add_security_scheme("token", SecurityScheme::Http(bearer));
    let either = ["session", "token"].map(|name| SecurityRequirement::new(name, [""; 0]));
    document.security = Some(either.into());
    document
}

/// Everything that the server answers. The guard is outermost: nothing is served around it.
pub fn router(app: Arc<App>) -> Router {
    let (api, document) = api().split_for_parts();
    let document = described(document).to_json().unwrap_or_default();
    let no_route = async || {
        Problem::new(StatusCode::NOT_FOUND, "GAL-API-ROUTE", "there is no such address")
            .fix("see /docs for all addresses")
    };
    let no_method = async || {
        Problem::new(
            StatusCode::METHOD_NOT_ALLOWED,
            "GAL-API-ROUTE",
            "there is no such method here",
        )
        .fix("see /docs for the methods of each address")
    };
    let elizaos = eliza::routes().layer(from_fn_with_state(Arc::clone(&app), auth::identify));
    let sockets = socket::layer(&app);
    let counted = Arc::clone(&app);
    api.layer(from_fn(tagged))
        .layer(from_fn_with_state(Arc::clone(&app), once))
        .merge(v1::routes())
        .layer(from_fn_with_state(Arc::clone(&app), auth::identify))
        .merge(elizaos)
        .merge(pages::routes(document))
        .merge(console::routes())
        .merge(health::routes())
        .fallback(no_route)
        .method_not_allowed_fallback(no_method)
        .layer(DefaultBodyLimit::max(BODY))
        .layer(sockets)
        .layer(from_fn_with_state(Arc::clone(&app), socket::identify))
        .merge(embed::routes())
        .layer(from_fn_with_state(Arc::clone(&app), guard))
        .layer(from_fn_with_state(counted, count_request))
        .with_state(app)
}
