#!/bin/sh
# Starts the server of a pod. Pod 0 is the primary, and the others replicate from it.
set -eu
ordinal=${HOSTNAME##*-}
cluster=${HOSTNAME%-*}
data=/var/lib/mysql/data
if [ ! -e "$data/installed" ]; then
  rm -rf "$data"
  mariadb-install-db --no-defaults --datadir="$data" --auth-root-authentication-method=normal --skip-test-db
  touch "$data/installed"
fi
# The server runs these statements at each start. They are not replicated, because each server runs its own.
cat >/tmp/init.sql <<SQL
SET sql_log_bin = 0;
CREATE OR REPLACE USER root@localhost IDENTIFIED BY '$ROOT_PASSWORD';
GRANT ALL ON *.* TO root@localhost WITH GRANT OPTION;
CREATE OR REPLACE USER replication@'%' IDENTIFIED BY '$REPLICATION_PASSWORD';
GRANT REPLICATION SLAVE ON *.* TO replication@'%';
SQL
read_only=0
if [ "$ordinal" != 0 ]; then
  read_only=1
  cat >>/tmp/init.sql <<SQL
CHANGE MASTER TO MASTER_HOST = '$cluster-0.$cluster', MASTER_USER = 'replication', MASTER_PASSWORD = '$REPLICATION_PASSWORD', MASTER_CONNECT_RETRY = 2, MASTER_USE_GTID = slave_pos;
START SLAVE;
SQL
fi
# A new replica reads all changes since the beginning, so the binary logs are kept.
exec mariadbd --no-defaults --datadir="$data" --socket=/tmp/mysql.sock --pid-file=/tmp/mysql.pid --init-file=/tmp/init.sql \
  --server-id=$((ordinal + 1)) --log-bin=binlog --gtid-strict-mode=1 --skip-slave-start --read-only=$read_only \
  --bind-address=0.0.0.0 --skip-name-resolve --innodb-buffer-pool-size=64M
