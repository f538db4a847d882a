// SPDX-License-Identifier: Apache-2.0
#include "process/procfs/mount_table.h"

#include <gtest/gtest.h>

namespace cicada::process {
namespace {

constexpr std::string_view kMountinfo =
    "22 1 254:0 / / rw,relatime - ext4 /dev/vda rw\n"
    "30 22 0:44 / /tmp rw - tmpfs tmpfs rw\n"
    "31 22 0:50 / /srv/my\\040data rw master:1 - fuse.sshfs host: rw\n"
    "32 30 0:51 /sub /tmp rw - nfs4 server:/ rw\n"
    "no mount\n33 22 x:y / /bad rw\n34 22";

std::string devices(const std::vector<MountPoint>& mounts) {
  std::string text;
  for (const MountPoint& mount : mounts)
    text += mount.path + "=" + std::to_string(mount.device.major) + ":" + std::to_string(mount.device.minor) + " ";
  return text;
}

TEST(MountTable, NamesWhatLiesOnThePath) {
  const MountTable mounts(kMountinfo);
  EXPECT_EQ(devices(mounts.on_the_way_to("/srv/my data/deep/jit-1.dump")), "/=254:0 /srv/my data=0:50 ");
  EXPECT_EQ(devices(mounts.on_the_way_to("/srv/my database")), "/=254:0 ");
  EXPECT_EQ(devices(mounts.on_the_way_to("/bad/file")), "/=254:0 ");
}

TEST(MountTable, ALaterMountCoversAnEarlierOne) {
  EXPECT_EQ(devices(MountTable(kMountinfo).on_the_way_to("/tmp/perf-1.map")), "/=254:0 /tmp=0:51 ");
}

TEST(MountTable, KnowsNothingOfNothing) { EXPECT_TRUE(MountTable().on_the_way_to("/tmp/x").empty()); }

}  // namespace
}  // namespace cicada::process
