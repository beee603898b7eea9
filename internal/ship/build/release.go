package build

import (
	"bytes"
	"context"
	"debug/buildinfo"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"syscall"

	"github.com/operon-framework/operon/internal/ship/image"
	"github.com/operon-framework/operon/internal/ship/licenses"
	"github.com/operon-framework/operon/internal/ship/sbom"
	"github.com/operon-framework/operon/internal/tools/up/process"
)

// released is the program of operators without Go code as a release archive contains it, with its SBOM and its licenses: see package dist.
// Images contain it as it is, and nothing is compiled.
type released struct {
	file, platform string
	// document is the SBOM, and described its content.
	document  string
	described sbom.Described
}

// findReleased returns the program of the release archive that contains this program. It returns nil for operators with Go code, if there is
// none, or if the user wants another one: with build tags, or settings of the go command.
func (b *builder) findReleased() (*released, error) {
	fips := os.Getenv("GOFIPS140")
	if !b.project.Main.Stock() || len(b.Tags) > 0 || os.Getenv("GOEXPERIMENT") != "" || fips != "" && fips != "off" {
		return nil, nil
	}
	return readReleased(process.Engine())
}

// readReleased returns nil if the file is "" or not from a release archive: it has no SBOM then.
func readReleased(file string) (*released, error) {
	if real, err := filepath.EvalSymlinks(file); err == nil {
		file = real
	}
	r := &released{file: file, document: filepath.Join(filepath.Dir(file), "sbom", filepath.Base(file)+".spdx.json")}
	content, err := os.ReadFile(r.document)
	if file == "" || errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if r.described, err = sbom.Read(content); err != nil {
		return nil, fmt.Errorf("read %s: %w", r.document, err)
	}
	info, err := buildinfo.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read how %s was built: %w; unpack the release archive again", file, err)
	}
	r.platform = setting(info, "GOOS") + "/" + setting(info, "GOARCH")
	return r, nil
}

// setting returns the value of a setting of the go command, "" if it is not known.
func setting(info *debug.BuildInfo, key string) string {
	i := slices.IndexFunc(info.Settings, func(s debug.BuildSetting) bool { return s.Key == key })
	if i < 0 {
		return ""
	}
	return info.Settings[i].Value
}

// runsOn reports whether the program is the one for a platform. Programs of releases are for the first variant of each architecture.
func (r *released) runsOn(target platform) bool {
	own, err := parsePlatform(r.platform)
	return err == nil && slices.Equal(own.env, target.env)
}

// verify returns an error if the program is not the one that the SBOM describes.
func (r *released) verify() error {
	_, err := r.read()
	return err
}

func (r *released) read() ([]byte, error) {
	content, err := os.ReadFile(r.file)
	if err == nil && sum(content) != r.described.Digest {
		err = fmt.Errorf("%s is not the program that %s describes: unpack the release archive again", r.file, r.document)
	}
	return content, err
}

// release returns the program of the release, and whether its layers exist already.
func (b *builder) release(ctx context.Context, target platform, known program) (program, bool, error) {
	key := sum([]byte(b.released.described.Digest + "\x00" + b.project.Name))
	if !b.Again && known.Key == key && b.cache.store.Has(known.Layer.Descriptor) && b.cache.store.Has(known.Notices.Descriptor) {
		return known, true, nil
	}
	content, err := b.released.read()
	if err != nil {
		return program{}, false, err
	}
	info, err := buildinfo.Read(bytes.NewReader(content))
	if err != nil {
		return program{}, false, err
	}
	b.tell("packing %s for %s", b.released.file, target)
	fresh := program{Key: key, Digest: b.released.described.Digest, Info: info.String(), Licenses: b.released.described.Licenses}
	if fresh.Layer, err = b.cache.store.Layer(ctx, "operon build: /"+Program, []image.File{image.Content(Program, 0o755, content)}); err != nil {
		return program{}, false, err
	}
	texts, err := b.released.texts()
	if err != nil {
		return program{}, false, fmt.Errorf("read the licenses of %s, which its image has to contain: %w; unpack the release archive again", b.released.file, err)
	}
	if fresh.Notices, err = b.notices(ctx, texts); err != nil {
		return program{}, false, err
	}
	return fresh, false, b.cache.save(target, fresh)
}

// texts returns the licenses and notices beside the program.
func (r *released) texts() ([]licenses.File, error) {
	dir := filepath.Join(filepath.Dir(r.file), "licenses", filepath.Base(r.file))
	var found []licenses.File
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(dir, path)
		found = append(found, licenses.File{Path: filepath.ToSlash(name), Content: content})
		return err
	})
	if err == nil && len(found) == 0 {
		err = fmt.Errorf("%s has no files", dir)
	}
	return found, err
}
