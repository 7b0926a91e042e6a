# One file for every service: docker build --target worker|scheduler|cli|sample-origin .
#
# No `# syntax=` line and no BuildKit-only instruction, so that the classic builder of an old docker-compose builds it
# too. Behind a proxy, pass --build-arg HTTPS_PROXY=…; another npm registry: --build-arg NPM_REGISTRY=….
ARG NODE_IMAGE=node:24-trixie-slim

FROM ${NODE_IMAGE} AS pnpm
ARG NPM_REGISTRY=https://registry.npmjs.org/
ARG PNPM_VERSION=12.21.0
ENV npm_config_registry=${NPM_REGISTRY} npm_config_update_notifier=false CI=true
WORKDIR /repo
RUN npm install --global --no-audit --no-fund pnpm@${PNPM_VERSION}
# The lockfile alone decides what is downloaded: this layer stays while only sources or manifests change.
COPY pnpm-lock.yaml pnpm-workspace.yaml ./
RUN pnpm fetch --ignore-scripts && rm -rf node_modules

# The manifests alone: what is installed below stays cached while only sources change.
FROM pnpm AS manifests
COPY . .
RUN find . -type f -not -name package.json -not -name 'pnpm-*.yaml' -delete && find . -type d -empty -delete

# No install script runs: the only one allowed brings Node, which is the base image's here.
FROM pnpm AS production-dependencies
COPY --from=manifests /repo ./
RUN pnpm install --prod --frozen-lockfile --offline --ignore-scripts && rm pnpm-lock.yaml

FROM pnpm AS build
COPY --from=manifests /repo ./
RUN pnpm install --frozen-lockfile --offline --ignore-scripts
COPY . .
RUN pnpm --recursive run build
# Compiled code and its source maps; no declarations, no compiler records.
RUN find apps/*/dist packages/*/dist deploy LICENSE -type f \
      -not -name '*.d.ts' -not -name '*.d.ts.map' -not -name '*.tsbuildinfo' \
      -exec install -D -m 0644 {} /built/{} \;

FROM ${NODE_IMAGE} AS service
LABEL org.opencontainers.image.title="Holdoff" \
      org.opencontainers.image.description="Distributed scraping workers that honour Retry-After across the whole fleet" \
      org.opencontainers.image.licenses="Apache-2.0"
ENV NODE_ENV=production NODE_OPTIONS=--enable-source-maps METRICS_HOST=0.0.0.0 METRICS_PORT=9464
WORKDIR /app
# A volume that is mounted here for the first time takes over this owner.
RUN mkdir /results && chown node:node /results
COPY --from=production-dependencies /repo ./
COPY --from=build /built ./
USER node
EXPOSE 9464
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=10s --start-period=60s --retries=3 CMD ["node", "/app/deploy/healthcheck.mjs"]

# Exec form: node itself is the process that the engine signals (behind an init, where one is asked for).
FROM service AS worker
LABEL org.opencontainers.image.title="Holdoff worker"
# Results are synced by libuv's threads: with more of them waiting at once the file system commits syncs together.
ENV RESULTS_DIR=/results UV_THREADPOOL_SIZE=32
CMD ["node", "/app/apps/worker/dist/main.js"]

FROM service AS scheduler
LABEL org.opencontainers.image.title="Holdoff scheduler"
CMD ["node", "/app/apps/scheduler/dist/main.js"]

FROM service AS sample-origin
LABEL org.opencontainers.image.title="Holdoff sample origin"
HEALTHCHECK NONE
CMD ["node", "/app/apps/sample-origin/dist/main.js"]

FROM service AS cli
LABEL org.opencontainers.image.title="Holdoff command line"
HEALTHCHECK NONE
ENTRYPOINT ["node", "/app/apps/cli/dist/main.js"]
CMD ["--help"]
