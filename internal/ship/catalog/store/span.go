package store

import (
	"errors"
	"fmt"
	"hash/crc32"
	"io"
)

// ErrCorrupt is the error of a cache whose content is not what was written. Rebuild it.
var ErrCorrupt = errors.New("the cache is corrupt")

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// span is a part of a file with its checksum.
type span struct {
	At   int64  `json:"a"`
	Size int64  `json:"s"`
	Sum  uint32 `json:"c"`
}

// load reads a span.
func (s span) load(from io.ReaderAt) ([]byte, error) {
	content := make([]byte, s.Size)
	if _, err := from.ReadAt(content, s.At); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	if crc32.Checksum(content, castagnoli) != s.Sum {
		return nil, fmt.Errorf("%w: the checksum of the %d bytes at %d differs", ErrCorrupt, s.Size, s.At)
	}
	return content, nil
}

// copyTo writes a span without keeping it in memory. The reader has to discard what it got if an error follows.
func (s span) copyTo(out io.Writer, from io.ReaderAt) error {
	sum := crc32.New(castagnoli)
	n, err := io.Copy(out, io.TeeReader(io.NewSectionReader(from, s.At, s.Size), sum))
	if err != nil {
		return err
	}
	if n != s.Size || sum.Sum32() != s.Sum {
		return fmt.Errorf("%w: the checksum of the %d bytes at %d differs", ErrCorrupt, s.Size, s.At)
	}
	return nil
}

// appender writes spans to a file.
type appender struct {
	out io.Writer
	at  int64
}

func (a *appender) add(content []byte) (span, error) {
	made := span{a.at, int64(len(content)), crc32.Checksum(content, castagnoli)}
	n, err := a.out.Write(content)
	a.at += int64(n)
	return made, err
}
