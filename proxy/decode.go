package proxy

import (
	"fmt"
	"io"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// maxDecoded bounds what one encoded answer may decode to.
const maxDecoded = 64 << 20

// decodable reports whether decode knows the content coding.
func decodable(coding string) bool {
	switch coding {
	case "gzip", "x-gzip", "br", "zstd":
		return true
	}
	return false
}

// decode reads r, encoded in the given content coding. It is for judging
// alone: clients get what the server sent.
func decode(coding string, r io.Reader) (io.ReadCloser, error) {
	switch coding {
	case "":
		return io.NopCloser(r), nil
	case "gzip", "x-gzip":
		return gzip.NewReader(r)
	case "br":
		return io.NopCloser(brotli.NewReader(r)), nil
	case "zstd":
		z, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxDecoded), zstd.WithDecoderLowmem(true))
		if err != nil {
			return nil, err
		}
		return z.IOReadCloser(), nil
	}
	return nil, fmt.Errorf("decode content coding %q: not known", coding)
}
