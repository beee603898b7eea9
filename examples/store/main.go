// Command store runs an operator that manages a server for each Store, and backs up and restores its values with Actions.
// `store serve ADDRESS` runs the server.
package main

import (
	"context"
	"fmt"
	"net"
	"os"

	"github.com/operon-framework/operon"
	"github.com/operon-framework/operon/durable/artifactstore"

	"github.com/operon-framework/operon/examples/store/api/v1alpha1"
	"github.com/operon-framework/operon/examples/store/server"
)

//go:generate operon generate --max-description=0
//go:generate cp ../../api/actions/v1alpha1/crd/actions.operon.dev_actions.yaml ../../api/actions/v1alpha1/crd/actions.operon.dev_actionschedules.yaml config/crd/

func main() {
	if len(os.Args) == 3 && os.Args[1] == "serve" {
		if err := serve(os.Args[2]); err != nil {
			fmt.Fprintln(os.Stderr, "store:", err)
			os.Exit(1)
		}
		return
	}
	operon.Main("store-operator",
		operon.API(v1alpha1.AddToScheme),
		operon.Manage(Store{Backups: backups(), Address: os.Getenv("STORE_ADDRESS")}),
	)
}

// backups returns the destination of backups according to the environment.
func backups() artifactstore.Bucket {
	switch {
	case os.Getenv("STORE_S3_ENDPOINT") != "":
		return artifactstore.S3{
			Endpoint: os.Getenv("STORE_S3_ENDPOINT"), Region: os.Getenv("STORE_S3_REGION"), Bucket: os.Getenv("STORE_S3_BUCKET"),
			Credentials: func(context.Context) (artifactstore.Credentials, error) {
				return artifactstore.Credentials{
					Key: os.Getenv("AWS_ACCESS_KEY_ID"), Secret: os.Getenv("AWS_SECRET_ACCESS_KEY"), Token: os.Getenv("AWS_SESSION_TOKEN"),
				}, nil
			},
		}
	case os.Getenv("STORE_BACKUPS") != "":
		return artifactstore.Directory(os.Getenv("STORE_BACKUPS"))
	}
	return nil
}

// serve runs the store server.
func serve(address string) error {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	return server.New().Serve(context.Background(), listener)
}
