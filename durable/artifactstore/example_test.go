package artifactstore_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/operon-framework/operon/durable/artifactstore"
)

// Files are stored in a directory, such as the mount path of a volume.
func ExampleDirectory() {
	dir, err := os.MkdirTemp("", "backups")
	if err != nil {
		panic(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()

	ctx := context.Background()
	backups := artifactstore.Directory(dir)
	if err := backups.Put(ctx, "db/monday.dump", strings.NewReader("42 rows")); err != nil {
		panic(err)
	}
	file, err := backups.Get(ctx, "db/monday.dump")
	if err != nil {
		panic(err)
	}
	defer func() { _ = file.Close() }()
	content, err := io.ReadAll(file)
	fmt.Println(string(content), err)

	_, err = backups.Get(ctx, "db/tuesday.dump")
	fmt.Println("tuesday is missing:", errors.Is(err, fs.ErrNotExist))
	// Output:
	// 42 rows <nil>
	// tuesday is missing: true
}

// A bucket of an S3 API. Each request calls Credentials, so that a rotated key takes effect at once.
func ExampleS3() {
	var backups artifactstore.Bucket = artifactstore.S3{
		Endpoint: "https://s3.eu-central-1.amazonaws.com",
		Region:   "eu-central-1",
		Bucket:   "acme-backups",
		Prefix:   "shop/",
		Credentials: func(context.Context) (artifactstore.Credentials, error) {
			key, err := os.ReadFile("/var/run/secrets/s3/key")
			if err != nil {
				return artifactstore.Credentials{}, err
			}
			secret, err := os.ReadFile("/var/run/secrets/s3/secret")
			return artifactstore.Credentials{Key: string(key), Secret: string(secret)}, err
		},
	}
	if err := backups.Put(context.Background(), "monday.dump", strings.NewReader("42 rows")); err != nil {
		panic(err)
	}
}
