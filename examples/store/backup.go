package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"slices"
	"time"

	"github.com/operon-framework/operon"
	"github.com/operon-framework/operon/durable"

	"github.com/operon-framework/operon/examples/store/api/v1alpha1"
)

// Names of the artifacts of a backup.
const (
	artifactFile = "file"
	artifactSum  = "sum"
)

// Dump is a backup: a file in the bucket of backups, and its SHA-256.
type Dump struct {
	File string `json:"file"`
	Sum  string `json:"sum"`
}

var errNoBackups = errors.New("the operator has no place for backups: set STORE_BACKUPS to a directory, or STORE_S3_ENDPOINT and STORE_S3_BUCKET")

// backup writes all values of a Store to a file. No value can be set in the meantime. Regardless of the result of the backup,
// the Store accepts values again afterwards.
func (s Store) backup(ctx context.Context, store *v1alpha1.Store, act *operon.ActionContext) error {
	if s.Backups == nil {
		return errNoBackups
	}
	if _, err := durable.Do(ctx, act.Run, s.pause(store)); err != nil {
		return err
	}
	dump, err := durable.Do(ctx, act.Run, s.dump(store))
	if err != nil {
		return err
	}
	if _, err := durable.Do(ctx, act.Run, s.verify(dump)); err != nil {
		return err
	}
	act.Artifact(artifactFile, dump.File)
	act.Artifact(artifactSum, dump.Sum)
	return nil
}

// restore sets the values of a Store to the values in a backup.
func (s Store) restore(ctx context.Context, store *v1alpha1.Store, act *operon.ActionContext) error {
	if s.Backups == nil {
		return errNoBackups
	}
	dump := Dump{File: act.Artifacts[artifactFile], Sum: act.Artifacts[artifactSum]}
	if dump.File == "" {
		return errors.New("there is no backup to restore: name the Action that made it in spec.artifactsFrom")
	}
	if _, err := durable.Do(ctx, act.Run, s.verify(dump)); err != nil {
		return err
	}
	_, err := durable.Do(ctx, act.Run, s.load(store, dump))
	return err
}

// pause prevents values from being set until the end of the run. The store is paused with the key of the step, so pausing it
// again changes nothing.
func (s Store) pause(store *v1alpha1.Store) durable.Step[bool] {
	say := func(word string) func(context.Context, *durable.Attempt) error {
		return func(ctx context.Context, a *durable.Attempt) error {
			c, err := s.dial(ctx, store)
			if err != nil {
				return err
			}
			defer c.close()
			return c.tell("OK", "%s %s", word, a.Key)
		}
	}
	return durable.Step[bool]{
		Name:    "pause",
		Timeout: 5 * time.Minute,
		Do:      func(ctx context.Context, a *durable.Attempt) (bool, error) { return true, say("pause")(ctx, a) },
		Finally: func(ctx context.Context, a *durable.Attempt, _ bool) error { return say("resume")(ctx, a) },
	}
}

// dump writes the values to a file whose name contains the key of the step. Repeating it replaces the file.
func (s Store) dump(store *v1alpha1.Store) durable.Step[Dump] {
	name := func(a *durable.Attempt) string { return fmt.Sprintf("%s-%s.json", store.Name, a.Key) }
	return durable.Step[Dump]{
		Name:    "dump",
		Timeout: time.Hour,
		Do: func(ctx context.Context, a *durable.Attempt) (Dump, error) {
			c, err := s.dial(ctx, store)
			if err != nil {
				return Dump{}, err
			}
			defer c.close()
			values, err := c.dump()
			if err != nil {
				return Dump{}, err
			}
			text, err := json.MarshalIndent(values, "", " ")
			if err != nil {
				return Dump{}, err
			}
			return Dump{File: name(a), Sum: sum(text)}, s.Backups.Put(ctx, name(a), bytes.NewReader(text))
		},
		Undo: func(ctx context.Context, a *durable.Attempt, _ Dump) error { return s.Backups.Delete(ctx, name(a)) },
	}
}

// verify reads a backup again. If it differs from what was written, a retry would not help.
func (s Store) verify(dump Dump) durable.Step[int] {
	return durable.Step[int]{
		Name: "verify",
		Do: func(ctx context.Context, _ *durable.Attempt) (int, error) {
			values, err := s.read(ctx, dump)
			return len(values), err
		},
	}
}

// load sets all values in a backup, and removes all others. It can be repeated.
func (s Store) load(store *v1alpha1.Store, dump Dump) durable.Step[int] {
	return durable.Step[int]{
		Name:    "load",
		Timeout: time.Hour,
		Do: func(ctx context.Context, a *durable.Attempt) (int, error) {
			values, err := s.read(ctx, dump)
			if err != nil {
				return 0, err
			}
			c, err := s.dial(ctx, store)
			if err != nil {
				return 0, err
			}
			defer c.close()
			if err := c.tell("OK", "flush"); err != nil {
				return 0, err
			}
			for i, key := range slices.Sorted(maps.Keys(values)) {
				if err := c.tell("STORED", "set %s %s", key, values[key]); err != nil {
					return 0, err
				}
				if err := a.Progress(ctx, "%d of %d values", i+1, len(values)); err != nil {
					return 0, err
				}
			}
			return len(values), nil
		},
	}
}

// read returns the values of a backup.
func (s Store) read(ctx context.Context, dump Dump) (map[string]string, error) {
	file, err := s.Backups.Get(ctx, dump.File)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, durable.Fail(err)
	}
	if err != nil {
		return nil, err
	}
	defer file.Close()
	text, err := io.ReadAll(file)
	if err != nil {
		return nil, err
	}
	if sum(text) != dump.Sum {
		return nil, durable.Fail(fmt.Errorf("the backup %s is not what was written", dump.File))
	}
	values := map[string]string{}
	return values, json.Unmarshal(text, &values)
}

func sum(text []byte) string {
	digest := sha256.Sum256(text)
	return hex.EncodeToString(digest[:])
}
