FROM node:24-bookworm-slim AS build
WORKDIR /app
COPY package.json package-lock.json ./
# What the packages' own install scripts create is not needed here.
RUN npm ci --ignore-scripts
COPY . .
RUN npm run build

# /image becomes the root folder: the gateway and the packages that it loads from node_modules, without files
# that no import reads …
RUN npm query ':root > [name="@electric-sql/pglite"], :is(#fs-native-extensions, #pg), :is(#fs-native-extensions, #pg) *' \
      | node -p 'JSON.parse(fs.readFileSync(0)).map(({ location }) => location).join(" ")' > /packages \
 && mkdir -p /image/app /image/etc /image/usr/local/bin \
 && install --directory --owner=10001 --group=10001 /data \
 && cp -r --parents package.json dist prisma/migrations src/store/pages src/store/tools \
      $(cat /packages) /image/app \
 && cd /image/app/node_modules \
 && find . \( -name '*.map' -o -name '*.ts' -o -name '*.cts' -o -name '*.cjs' -o -name '*.md' -o -name '*.bare' \) -delete \
 && find @electric-sql/pglite/dist -name '*.tar.gz' ! -name pg_trgm.tar.gz -delete \
 && cd fs-native-extensions/prebuilds \
 && find . -mindepth 1 -maxdepth 1 ! -name "linux-$(node -p process.arch)" -exec rm -r {} +
# … with Node.js and the libraries that it is linked with. There is no shell and no package manager.
RUN cp /usr/local/bin/node /image/usr/local/bin \
 && ldd /usr/local/bin/node /image/app/node_modules/fs-native-extensions/prebuilds/*/*.node \
      | grep -oE '/lib\S*\.so\S*' | sort -u | xargs cp --parents --dereference --target-directory=/image \
 && echo 'gateway:x:10001:10001::/data:' > /image/etc/passwd

FROM scratch
ARG VERSION=unknown
ARG REVISION=unknown
LABEL org.opencontainers.image.title="pet-store-gateway" \
      org.opencontainers.image.description="A GraphQL gateway over the pet store domain" \
      org.opencontainers.image.licenses="MIT" \
      org.opencontainers.image.version="$VERSION" \
      org.opencontainers.image.revision="$REVISION"
COPY --from=build /image /
COPY --from=build --chown=10001:10001 /data /data
ENV PATH=/usr/local/bin NODE_ENV=production HOST=0.0.0.0 PORT=4000 DATA_DIR=/data
WORKDIR /app
# A number, because Kubernetes can't check that a name is not root.
USER 10001:10001
VOLUME /data
EXPOSE 4000
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s CMD ["node", "-e", \
  "fetch(`http://127.0.0.1:${process.env.PORT}/ready`).then(({ ok }) => process.exit(ok ? 0 : 1))"]
# Not started by npm, which would not forward SIGTERM. The command `dist/migrate.js` only migrates.
ENTRYPOINT ["node", "--max-semi-space-size=16"]
CMD ["dist/main.js"]
