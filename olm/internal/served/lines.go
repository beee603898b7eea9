package served

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"slices"
)

// lines writes objects, one on each line, up to a size.
type lines struct {
	to   io.Writer
	left int64
	sums [][sha256.Size]byte
}

func (l *lines) write(object any) error {
	content, err := json.Marshal(object)
	if err != nil {
		return err
	}
	if l.left -= int64(len(content)) + 1; l.left < 0 {
		return fmt.Errorf("the catalog is too large")
	}
	l.sums = append(l.sums, sha256.Sum256(content))
	_, err = l.to.Write(append(content, '\n'))
	return err
}

// digest returns a digest of all lines, in any order.
func (l *lines) digest() string {
	slices.SortFunc(l.sums, func(a, b [sha256.Size]byte) int { return slices.Compare(a[:], b[:]) })
	whole := sha256.New()
	for _, one := range l.sums {
		whole.Write(one[:])
	}
	return "sha256:" + hex.EncodeToString(whole.Sum(nil))
}
