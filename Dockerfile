# The image of a release, made by GoReleaser of programs that are built already.
FROM alpine:3.23@sha256:5b10f432ef3da1b8d4c7eb6c487f2f5a8f096bc91145e68878dd4a5019afde11 AS certificates

FROM scratch
ARG TARGETPLATFORM
COPY --from=certificates /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/
COPY $TARGETPLATFORM/queuelock /queuelock
USER 65532:65532
ENTRYPOINT ["/queuelock"]
