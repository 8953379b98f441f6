# ArchiveBox with the programs and fonts that pages need. docs/install.md says how to run it, decision 0127 why it is so.
#
#     docker build -t archivebox .
#     docker run -v ./data:/data archivebox add https://example.com
#
# BASE: Debian, or an image that has its packages.
ARG BASE=docker.io/library/debian:bookworm-slim

FROM $BASE AS system
# What plugins find on the system, what installs their other programs, and fonts for all scripts.
RUN apt-get update -qq \
 && DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends \
    ca-certificates python3 python3-venv tzdata chromium nodejs npm git ffmpeg poppler-utils ripgrep wget \
    fonts-noto-core fonts-noto-cjk fonts-noto-color-emoji fonts-liberation fonts-dejavu-core \
 && rm -rf /var/lib/apt/lists/* /var/cache/* /var/log/apt /var/log/dpkg.log

FROM system AS program
WORKDIR /src
COPY requirements.lock ./
RUN python3 -m venv /opt/archivebox \
 && /opt/archivebox/bin/pip install --quiet --no-cache-dir --only-binary=:all: --require-hashes -r requirements.lock
COPY pyproject.toml README.md LICENSE ./
COPY archivebox archivebox
RUN /opt/archivebox/bin/pip install --quiet --no-cache-dir --no-deps /src
# The programs of plugins that Debian does not have. The collection that asked for them is not kept.
RUN LIB_DIR=/var/lib/archivebox /opt/archivebox/bin/archivebox --data-dir /tmp/data install \
 && chmod -R g=u /var/lib/archivebox

FROM system
# 911 is the user of ArchiveBox's earlier images: what they archived belongs to it.
RUN groupadd --gid 911 archivebox \
 && useradd --uid 911 --gid 911 --home-dir /home/archivebox --create-home --shell /usr/sbin/nologin archivebox \
 && install -d -o 911 -g 911 /data \
 && install -d -m 775 -g 911 /var/lib/archivebox
COPY --from=program /opt/archivebox /opt/archivebox
COPY --from=program --chown=0:911 /var/lib/archivebox /var/lib/archivebox
COPY packaging/entrypoint /usr/local/bin/archivebox-entrypoint
ENV PATH=/opt/archivebox/bin:$PATH LANG=C.UTF-8 HOME=/home/archivebox \
    DATA_DIR=/data LIB_DIR=/var/lib/archivebox BIND_ADDR=0.0.0.0:8000
WORKDIR /data
VOLUME /data
EXPOSE 8000 8001
STOPSIGNAL SIGTERM
ENTRYPOINT ["archivebox-entrypoint"]
CMD ["server"]
