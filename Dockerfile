# ArchiveBox with the programs and fonts that pages need. docs/install.md says how to run it, decision 0127 why it is so.
#
#     docker build -t archivebox .
#     docker run -v ./data:/data archivebox add https://example.com
#
# BASE: Debian, or an image that has its packages.
ARG BASE=docker.io/library/debian:bookworm-slim

FROM $BASE AS system
# Files of Debian's packages that nothing here opens: pages in other languages of manuals and menus, icons, and what draws
# on graphics cards (headless Chromium draws with its own SwiftShader). Licences stay.
RUN printf 'path-%s\n' \
    'exclude=/usr/share/doc/*' 'include=/usr/share/doc/*/copyright' 'exclude=/usr/share/man/*' 'exclude=/usr/share/info/*' \
    'exclude=/usr/share/locale/*' 'exclude=/usr/share/icons/*' 'include=/usr/share/icons/*.theme' \
    'exclude=/usr/lib/chromium/libVkLayer_khronos_validation.so' \
    'exclude=/usr/lib/*/dri/*' 'exclude=/usr/lib/*/libLLVM*' 'exclude=/usr/lib/*/libz3.so*' \
    'exclude=/usr/lib/*/libmfxhw64.so*' 'exclude=/usr/lib/*/mfx/*' \
    >/etc/dpkg/dpkg.cfg.d/archivebox
# What plugins find on the system, what installs their other programs, and fonts for all scripts.
RUN apt-get update -qq \
 && DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends \
    ca-certificates python3 python3-venv tzdata chromium nodejs git ffmpeg poppler-utils ripgrep wget \
    fonts-noto-core fonts-noto-cjk fonts-noto-color-emoji fonts-liberation fonts-dejavu-core \
 && rm -rf /var/lib/apt/lists/* /var/cache/* /var/log/apt /var/log/dpkg.log

FROM system AS program
# npm as its authors publish it: Debian's brings 300 packages, among them headers and a compiler of JavaScript.
ARG NPM=10.9.9
ARG NPM_SHA512=d60fba8cb42f688b81e33c2f1cbef2ad7b977166700ec0ad057f1b6d60ea6ef2524abf673e20c35931cd8305d1dbb8887134d6eefdc0e7b8435bd458bf65b862
WORKDIR /src
RUN apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends npm binutils \
 && npm pack --silent npm@$NPM && echo "$NPM_SHA512  npm-$NPM.tgz" | sha512sum --check --quiet \
 && npm install --silent --global --prefix /opt/npm ./npm-$NPM.tgz \
 && rm -r /opt/npm/lib/node_modules/npm/docs /opt/npm/lib/node_modules/npm/man
ENV PATH=/opt/archivebox/bin:/opt/npm/bin:$PATH
# Without a pip of its own: programs of plugins are installed by that of python3-venv.
COPY requirements.lock ./
RUN python3 -m venv /tmp/pip && python3 -m venv --without-pip /opt/archivebox \
 && /tmp/pip/bin/pip --python /opt/archivebox/bin/python install --quiet --no-cache-dir --only-binary=:all: --require-hashes -r requirements.lock
COPY pyproject.toml README.md LICENSE ./
COPY archivebox archivebox
RUN /tmp/pip/bin/pip --python /opt/archivebox/bin/python install --quiet --no-cache-dir --no-deps /src
# Of libraries what is never loaded: symbols and translations (USE_I18N is off).
RUN cd /opt/archivebox/lib/python3*/site-packages \
 && find . -name '*.so' ! -path '*.libs/*' -exec strip --strip-unneeded {} + \
 && find django \( -name '*.po' -o -name '*.mo' \) -delete
# The programs of plugins that Debian does not have. The collection that asked for them is not kept.
RUN LIB_DIR=/var/lib/archivebox archivebox --data-dir /tmp/data install \
 && chmod -R g=u /var/lib/archivebox

FROM system
# 911 is the user of ArchiveBox's earlier images: what they archived belongs to it.
RUN groupadd --gid 911 archivebox \
 && useradd --uid 911 --gid 911 --home-dir /home/archivebox --create-home --shell /usr/sbin/nologin archivebox \
 && install -d -o 911 -g 911 /data \
 && install -d -m 775 -g 911 /var/lib/archivebox
COPY --from=program /opt /opt
COPY --from=program --chown=0:911 /var/lib/archivebox /var/lib/archivebox
COPY packaging/entrypoint /usr/local/bin/archivebox-entrypoint
ENV PATH=/opt/archivebox/bin:/opt/npm/bin:$PATH LANG=C.UTF-8 HOME=/home/archivebox \
    DATA_DIR=/data LIB_DIR=/var/lib/archivebox BIND_ADDR=0.0.0.0:8000
WORKDIR /data
VOLUME /data
EXPOSE 8000 8001
STOPSIGNAL SIGTERM
ENTRYPOINT ["archivebox-entrypoint"]
CMD ["server"]
