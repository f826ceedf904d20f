# Two images: turnwatch, the default, holds the sidecar and nothing else; tools
# (docker build --target tools) holds the other commands.
ARG GO_IMAGE=docker.io/library/golang:1.26-bookworm

FROM ${GO_IMAGE} AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY cmd cmd
COPY proxy proxy
COPY validate validate
ARG VERSION=unknown
RUN CGO_ENABLED=0 go build -trimpath -buildvcs=false -ldflags "-s -w -X main.stamped=${VERSION}" -o /out/ ./cmd/... \
    && mkdir /tools && find /out -type f ! -name turnwatch -exec mv {} /tools/ ';'

FROM scratch AS tools
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/
COPY --from=build /tools/ /bin/
USER 65532:65532
ENV PATH=/bin
CMD ["/bin/simsglang", "-h"]

FROM scratch AS turnwatch
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/
COPY --from=build /out/turnwatch /turnwatch
USER 65532:65532
EXPOSE 8080 9464
ENTRYPOINT ["/turnwatch"]
