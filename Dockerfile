# syntax=docker/dockerfile:1

# ---- build: needs a C compiler and the headers of OpenSSL (native TLS) ----
FROM rust:1.95-slim-bookworm AS build
RUN apt-get update \
 && apt-get install --yes --no-install-recommends build-essential libssl-dev pkg-config \
 && rm -rf /var/lib/apt/lists/*
WORKDIR /src
COPY . .
# The repository is not part of the build; `--build-arg GALATEA_COMMIT=$(git rev-parse HEAD)` names
# the commit.
ARG GALATEA_COMMIT=
RUN --mount=type=cache,target=/usr/local/cargo/registry \
    --mount=type=cache,target=/src/target \
    cargo build --release --locked --package galatea \
 && install -D target/release/galatea /out/galatea

# ---- run: the binary, OpenSSL and the root certificates, nothing else ----
FROM debian:bookworm-slim
RUN apt-get update \
 && apt-get install --yes --no-install-recommends ca-certificates libssl3 \
 && rm -rf /var/lib/apt/lists/* \
 && useradd --system --uid 10001 --no-create-home --shell /usr/sbin/nologin galatea \
 && install -d -o galatea -g galatea -m 0700 /data
COPY --from=build /out/galatea /usr/local/bin/galatea

# Everything that is written goes to /data, so the root file system may be read-only.
ENV GALATEA_DATA_DIR=/data
WORKDIR /data
VOLUME /data
USER galatea
STOPSIGNAL SIGTERM

HEALTHCHECK --interval=30s --timeout=5s --start-period=20s --retries=3 CMD ["galatea", "status"]
ENTRYPOINT ["galatea"]
CMD ["start"]
