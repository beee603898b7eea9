package serve

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/operon-framework/operon/internal/core/plural"
	"github.com/operon-framework/operon/internal/ship/catalog"
	"github.com/operon-framework/operon/internal/ship/catalog/store"
)

// watch replaces the store when the files of the catalog change, or when the cache is damaged.
func (s *Server) watch(ctx context.Context) error {
	ticks := time.NewTicker(timing.poll)
	defer ticks.Stop()
	quiet := time.NewTimer(timing.poll)
	defer quiet.Stop()
	state := watched{served: s.fingerprint}
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-quiet.C:
			s.trim()
			quiet.Reset(timing.trim)
		case <-s.live.damaged:
			s.report("the cache is damaged and is built again")
			s.reload(ctx, true)
		case <-ticks.C:
			now, err := store.Fingerprint(s.cache.Sources)
			switch state.next(now, err) {
			case changedFiles:
				s.reload(ctx, false)
			case unreadableFiles:
				s.report(fmt.Sprintf("the catalog cannot be read: %v; it is served as it was", err))
			}
			s.release()
		}
	}
}

// watched is what is known about the files of the catalog.
type watched struct {
	// served is the fingerprint of the last files that were read, seen that of the last look, and unreadable the error of it.
	served, seen, unreadable string
}

// finding is the result of a look at the files.
type finding string

// The findings.
const (
	nothingNew      finding = "nothing"
	changedFiles    finding = "changed"
	unreadableFiles finding = "unreadable"
)

// next takes in a look at the files. Files count as changed when two looks find the same, because they are written one after the other. An
// error counts once.
func (w *watched) next(now string, err error) finding {
	if err != nil {
		again := w.unreadable == err.Error()
		w.unreadable, w.seen = err.Error(), ""
		if again {
			return nothingNew
		}
		return unreadableFiles
	}
	settled := now == w.seen
	w.seen, w.unreadable = now, ""
	if !settled || now == w.served {
		return nothingNew
	}
	w.served = now
	return changedFiles
}

// reload opens the cache of the files as they are now, and serves it unless a package that is served is broken in it.
func (s *Server) reload(ctx context.Context, rebuild bool) {
	how := s.cache
	how.Rebuild = rebuild
	newer, err := store.Open(ctx, how)
	if err != nil {
		if ctx.Err() == nil {
			s.report(fmt.Sprintf("the changed catalog cannot be read: %v; it is served as it was", err))
		}
		return
	}
	if broken := breaks(s.live, newer); len(broken) > 0 && !rebuild {
		s.reportProblems(newer.Problems())
		s.report(fmt.Sprintf("the changed catalog is not served, because of problems with %s; it is served as it was", strings.Join(broken, ", ")))
		s.closed(newer.Close())
		return
	}
	s.reportProblems(newer.Problems())
	s.live.swap(newer, s.closed)
	s.report("changed: " + contents(newer))
}

func (s *Server) closed(err error) {
	if err != nil {
		s.report(fmt.Sprintf("close the old cache: %v", err))
	}
}

// breaks returns the packages that are served and that a newer store leaves out because of problems. Problems that concern no package can hide
// any of them.
func breaks(l *live, newer *store.Store) []string {
	var broken []string
	_ = l.use(func(old *store.Store) error { // never fails
		served := old.PackageNames()
		for _, name := range newer.LeftOut() {
			if slices.Contains(served, name) {
				broken = append(broken, "package "+name)
			}
		}
		for _, one := range newer.Problems() {
			gone := slices.DeleteFunc(slices.Clone(served), func(name string) bool { return slices.Contains(newer.PackageNames(), name) })
			if one.Package == "" && len(gone) > 0 && !slices.Contains(broken, "the file "+one.At.File) {
				broken = append(broken, "the file "+one.At.File)
			}
		}
		return nil
	})
	return broken
}

// maxReported is how many problems are reported.
const maxReported = 20

func (s *Server) reportProblems(all []catalog.Problem) {
	for i, one := range all {
		if i == maxReported {
			s.report(fmt.Sprintf("… and %d more problems: operon catalog validate lists them", len(all)-i))
			return
		}
		s.report(one.Error())
	}
}

// contents returns a sentence about a store.
func contents(s *store.Store) string {
	packages, bundles := s.Size()
	text := plural.Count(packages, "package") + ", " + plural.Count(bundles, "bundle")
	if left := s.LeftOut(); len(left) > 0 {
		text += "; left out because of problems: " + strings.Join(left, ", ")
	}
	return text
}
