# Two images: turnwatch, the default, holds the sidecar and nothing else; tools
# (--target tools) holds the other commands. Both are static, run as user 65532
# and write nothing outside what is mounted. Either base may be another one of
# the same kind: a mirror's, or one that a policy asks for.
#
#   docker build --build-arg VERSION=1.2.3 --build-arg REVISION=$(git rev-parse HEAD) -t turnwatch .
ARG GO_IMAGE=docker.io/library/golang:1.26-bookworm
ARG RUN_IMAGE=gcr.io/distroless/static-debian12:nonroot

FROM ${GO_IMAGE} AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY cmd cmd
COPY proxy proxy
COPY validate validate
ARG VERSION=unknown
# grpcnotrace leaves out a page for debugging gRPC, and a quarter of the binary.
RUN CGO_ENABLED=0 go build -tags grpcnotrace -trimpath -buildvcs=false -ldflags "-s -w -X main.stamped=${VERSION}" -o /out/ ./cmd/... \
    && mkdir /tools && find /out -type f ! -name turnwatch -exec mv {} /tools/ ';'

FROM ${RUN_IMAGE} AS tools
COPY --from=build /tools/ /bin/
USER 65532:65532
ENV PATH=/bin
CMD ["/bin/simsglang", "-h"]

FROM ${RUN_IMAGE} AS turnwatch
ARG RUN_IMAGE
ARG VERSION=unknown
ARG REVISION=unknown
LABEL org.opencontainers.image.title="turnwatch" \
      org.opencontainers.image.description="Sidecar that relays to SGLang unchanged and judges every model turn" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}" \
      org.opencontainers.image.base.name="${RUN_IMAGE}"
COPY LICENSE /LICENSE
COPY --from=build /out/turnwatch /turnwatch
USER 65532:65532
EXPOSE 8080 9464
ENTRYPOINT ["/turnwatch"]
