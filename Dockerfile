# The gateway alone: Node, Sluice, and tini as PID 1, which reaps what stdio servers leave behind.
# Servers come with images built FROM this one (deploy/Dockerfile.example) and one mounted file,
# /etc/sluice/sluice.yaml (deploy/sluice.yaml). Run it with a read-only root: only the volume /var/lib/sluice is
# written, with what has to outlive the container.

FROM node:24.21.0-bookworm-slim AS build
WORKDIR /app
COPY package.json package-lock.json ./
RUN npm ci --ignore-scripts --no-audit --no-fund
COPY tsconfig.json ./
COPY scripts/bundle.ts scripts/
COPY src src
RUN npm run build && npm prune --omit=dev --ignore-scripts --no-audit --no-fund

FROM node:24.21.0-bookworm-slim
RUN apt-get update \
  && apt-get install --yes --no-install-recommends libjemalloc2 tini \
  && rm -rf /var/lib/apt/lists/* /var/cache/apt/*
# jemalloc gives back what bursts of large messages took (docs/operations.md, Memory); servers don't inherit it.
ENV NODE_ENV=production \
  LD_PRELOAD=libjemalloc.so.2 \
  MALLOC_CONF=background_thread:true,dirty_decay_ms:5000,muzzy_decay_ms:0,lg_tcache_max:18 \
  SLUICE_DATA=/var/lib/sluice \
  SLUICE_HEALTH_URL=http://127.0.0.1:9464/healthz
WORKDIR /app
COPY LICENSE package.json ./
COPY bin bin
COPY --from=build /app/node_modules node_modules
COPY --from=build /app/dist dist
RUN ln -s /app/bin/sluice.js /usr/local/bin/sluice \
  && install --directory --mode=0700 --owner=1000 --group=1000 /var/lib/sluice
VOLUME /var/lib/sluice
# The user `node` of the base image, as a number so that an orchestrator sees that it is not root.
USER 1000:1000
EXPOSE 8080 9464
# The slim base has no curl.
HEALTHCHECK --interval=10s --timeout=3s --start-period=20s --retries=3 \
  CMD ["node", "-e", "fetch(process.env.SLUICE_HEALTH_URL).then((r) => process.exit(r.ok ? 0 : 1), () => process.exit(1))"]
ENTRYPOINT ["tini", "--", "sluice"]
CMD ["serve", "--config", "/etc/sluice/sluice.yaml"]
