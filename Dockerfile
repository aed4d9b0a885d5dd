FROM node:24.11.1-bookworm-slim AS build
WORKDIR /srv/parlance
COPY package.json package-lock.json .npmrc ./
RUN npm ci --ignore-scripts
COPY tsconfig.json tsconfig.build.json ./
COPY config config
COPY lib lib
COPY workers workers
COPY apps apps
COPY local-database local-database
COPY sdk sdk
COPY test test
COPY docs/guides docs/guides
RUN npm run build && rm -r dist/apps/local

FROM node:24.11.1-bookworm-slim AS packages
WORKDIR /srv/parlance
COPY package.json package-lock.json .npmrc ./
RUN npm ci --omit=dev --ignore-scripts && npm cache clean --force

FROM node:24.11.1-bookworm-slim
# Every process listens for the networks of its container. The port of metrics and health checks is published nowhere.
ENV NODE_ENV=production NODE_OPTIONS=--enable-source-maps HOST=0.0.0.0 METRICS_HOST=0.0.0.0 METRICS_PORT=9464
WORKDIR /srv/parlance
COPY --from=packages /srv/parlance/node_modules node_modules
COPY --from=build /srv/parlance/dist/config dist/config
COPY --from=build /srv/parlance/dist/lib dist/lib
COPY --from=build /srv/parlance/dist/workers dist/workers
COPY --from=build /srv/parlance/dist/apps dist/apps
COPY --from=build /srv/parlance/dist/web dist/web
COPY package.json ./
COPY deploy/health.mjs deploy/health.mjs
# A fresh volume takes the owner of the folder that it is mounted on.
RUN mkdir files backups && chown node:node files backups
USER node
# One image, four roles: docker-compose.yml names the role to run.
CMD ["node", "dist/apps/api/main.js"]
