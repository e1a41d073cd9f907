FROM node:20-slim AS build
WORKDIR /app
COPY package.json package-lock.json .npmrc tsconfig.json tsconfig.build.json rolldown.config.js ./
COPY bin bin
COPY migrations migrations
COPY src src
# `npm ci` installs, and compiles by the script `prepare`. What only the build needed goes again.
RUN npm ci && npm run build && npm prune --omit=dev

FROM node:20-slim
ENV NODE_ENV=production \
    TOLLGATE_HOST=0.0.0.0 \
    TOLLGATE_PORT=8080 \
    TOLLGATE_DATA_DIR=/data
WORKDIR /app
# The program belongs to root and is only read; the data belongs to the user that runs it. PostgreSQL refuses root.
COPY --from=build /app/package.json ./
COPY --from=build /app/node_modules node_modules
COPY --from=build /app/dist dist
COPY --from=build /app/bin bin
COPY --from=build /app/migrations migrations
COPY LICENSE ./
RUN install -d -o node -g node -m 0700 /data
USER node
VOLUME /data
EXPOSE 8080
HEALTHCHECK --interval=10s --timeout=3s --start-period=60s \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.TOLLGATE_PORT}/readyz`).then((answer) => process.exit(answer.ok ? 0 : 1), () => process.exit(1))"]
# Not through npm, which would not pass SIGTERM on.
CMD ["node", "bin/tollgate.js", "serve"]
